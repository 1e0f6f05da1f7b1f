# The playground in a container.
#
#   docker build -t rlhf-playground .
#   docker run -p 127.0.0.1:7860:7860 -v rlhf-outputs:/app/outputs -v rlhf-hub:/app/huggingface rlhf-playground
#
# As a Hugging Face Space it is built and started as it is; docs/spaces.md says which kind to take.
#
# With an NVIDIA GPU (PyPI's PyTorch for Linux is the CUDA build; where an image is built there is no GPU to be seen):
#
#   docker build --build-arg TORCH_INDEX=pypi -t rlhf-playground:gpu .
#   docker run --gpus all -p 127.0.0.1:7860:7860 -v rlhf-outputs:/app/outputs -v rlhf-hub:/app/huggingface rlhf-playground:gpu
#
# In the two volumes: runs, and models: what was downloaded from the hub, and SmolLM2 135M, once you have pressed Get on the
# page or run
#
#   docker run -v rlhf-hub:/app/huggingface rlhf-playground python -m playground real-model

FROM python:3.11-slim-bookworm

ARG TORCH_INDEX

ENV PATH=/app/.venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PIP_NO_CACHE_DIR=1 \
    GRADIO_SERVER_NAME=0.0.0.0 \
    GRADIO_ANALYTICS_ENABLED=False \
    HF_HUB_DISABLE_TELEMETRY=1 \
    HF_HOME=/app/huggingface \
    PLAYGROUND_MODELS=/app/huggingface/models \
    MPLCONFIGDIR=/tmp/matplotlib

RUN useradd --create-home --uid 1000 user
WORKDIR /app

RUN apt-get update && apt-get install -y --no-install-recommends make && rm -rf /var/lib/apt/lists/*
COPY Makefile requirements.txt requirements.lock ./
RUN make .venv/.run-ready

COPY --chown=1000:1000 . .
RUN mkdir -p outputs huggingface && chown 1000:1000 /app outputs huggingface

USER 1000
VOLUME /app/outputs /app/huggingface
EXPOSE 7860

HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:7860/', timeout=4)"]

CMD ["python", "app.py", "--port", "7860"]
