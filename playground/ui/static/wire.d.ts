// What Python and the page send each other. Written by `make payloads` from playground/ui/payloads/.

declare namespace Wire {
  /** How many of the fixed prompts' answers showed a behaviour `before` training and `after`, each `of` so many. */
  interface BetaCount {
    before: number;
    after: number;
    of: number;
  }

  /** A run at one leash: gain in score (sd) and KL (nats) of the fixed prompts, after each of the `updates` and at the end, and what was counted, by behaviour. */
  interface BetaRun {
    beta: number;
    seed: number;
    updates: number[];
    score: number[];
    kls: number[];
    gain: number;
    kl: number;
    counts: Record<string, BetaCount>;
  }

  /** A place of the slider: what was written to the `prompts` in the end, by the first run, and all runs. */
  interface BetaStop {
    beta: number;
    texts: string[];
    runs: BetaRun[];
  }

  /** A point of the line of what is possible, estimated; `known`: enough texts count behind it. */
  interface BetaBest {
    beta: number;
    score: number;
    kl: number;
    known: boolean;
  }

  /** A behaviour, in words. */
  interface BetaWords {
    name: string;
    words: string;
  }

  /** One experiment at many leashes. `beta`: its own. Below `loose` it runs away, above `tight` it barely moves. `asked`: the leashes whose model can be asked. */
  interface Betas {
    preset: string;
    beta: number;
    tight: number | null;
    loose: number | null;
    asked: number[];
    behaviours: BetaWords[];
    prompts: string[];
    before: string[];
    leashes: BetaStop[];
    possible: BetaBest[];
  }

  /** A policy that PPO has trained against the best one for its beta, over all texts: gains in score and KL of both; `share` of the best objective; `at_kl`: of the best gain at its own KL; `apart`: total variation; `kl_to_best`. `unit`: of its score, in that of the table. */
  interface BoardRun {
    beta: number;
    seed: number;
    unit: number;
    gain: number;
    kl: number;
    best_gain: number;
    best_kl: number;
    share: number;
    at_kl: number;
    apart: number;
    kl_to_best: number;
  }

  /** A text, its score, and how likely the reference is to write it. */
  interface BoardText {
    text: string;
    score: number;
    reference: number;
  }

  /** A beta at which PPO was trained: its runs, and how likely each is to write each of the shown texts. */
  interface BoardTrained {
    beta: number;
    runs: BoardRun[];
    chances: number[][];
  }

  /** A problem whose texts can all be listed. `levels`: for each of the prompts, each score there is with how likely the reference is to reach it. `point`: one point of the reward, in sd. `texts` are of the first prompt. */
  interface Chalkboard {
    prompts: string[];
    texts_in_all: number;
    point: number;
    levels: number[][][];
    texts: BoardText[];
    trained: BoardTrained[];
  }

  /** What to set in the form. */
  interface Change {
    differences: Difference[];
    values: Record<string, string | number | boolean | null>;
  }

  /** Was the model found, and what is it; `facts`: name and value. */
  interface AboutModel {
    here: boolean;
    facts: [string, string][];
    verdict: "fits" | "tight" | "does not fit";
    note: string;
  }

  /** Rows that cannot be prompts. */
  interface LeftOut {
    reason: string;
    count: number;
  }

  /** Token counts, and their histogram. */
  interface Lengths {
    min: number;
    median: number;
    p90: number;
    max: number;
    edges: number[];
    counts: number[];
  }

  /** One prompt. */
  interface PromptRow {
    text: string;
    cut: boolean;
    tokens: number;
    held_out: boolean;
  }

  /** What the model reads: text with its tokens, or a special token by its name. */
  interface Piece {
    text: string;
    special: boolean;
    tokens?: string[];
  }

  /** The prompts as the model will read them. */
  interface PromptsRead {
    source: string;
    column: string | null;
    num_claims: number;
    columns: string[];
    separator: string | null;
    form: string;
    system: string | null;
    room: number;
    num_rows: number;
    goes_on: boolean;
    num_training: number;
    num_evaluation: number;
    num_unneeded: number;
    held_out: boolean;
    left_out: LeftOut[];
    sentence: string;
    lengths: Lengths;
    rows: PromptRow[];
    seen: Piece[][];
  }

  /** A completion of the untrained model. */
  interface DrawnSample {
    prompt: string;
    completion: string;
    ended: boolean;
  }

  /** What one reward or judge says of these; `problem`: why nothing. */
  interface TriedReward {
    name: string;
    label: string;
    weight: number;
    judge: boolean;
    values: (number | null)[] | null;
    problem: string;
  }

  /** Completions, and what they earn. */
  interface TriedAnswers {
    samples: DrawnSample[];
    rewards: TriedReward[];
  }

  /** What a trial update came to; `change`: what would make it fit. */
  interface Trial {
    state: "done";
    updates: number;
    seconds_per_update: number;
    seconds_before: number;
    seconds: [number, number] | null;
    memory_gb: number;
    free_gb: number;
    device: string;
    verdict: "fits" | "tight" | "does not fit";
    advice: string;
    change: Change | null;
    num_updates: number;
  }

  /** One part of the check; `found` depends on which. */
  interface CheckedPart {
    part: "model" | "prompts" | "answers" | "update";
    state: "asking" | "done" | "error";
    phase?: string;
    seconds?: number;
    found?: AboutModel | PromptsRead | TriedAnswers | Trial;
    message?: string;
    advice?: string;
    change?: Change | null;
    num_updates?: number;
    at?: number;
  }

  /** All that is counted. */
  interface Behaviours {
    meters: Meter[];
    ways: Way[];
    paid: Paid[];
  }

  /** Score against KL, for the chart. */
  interface FrontierLines {
    evaluations: Record<string, (number | null)[]>;
    possible: Possible | null;
  }

  /** Means over all completions of one evaluation. */
  interface MomentSummary {
    count: number;
    unique: number;
    score: number | null;
    kl: number | null;
    length: number | null;
    ended: number | null;
    terms: Record<string, number | null>;
    judges: Record<string, number | null>;
  }

  /** What a run is called, what it is, and the note on it. */
  interface Names {
    title: string;
    experiment: string;
    story: string;
    note: string;
  }

  /** What stays the same during a run, unless it is renamed. `mystery`: which mistake is planted is to be found. `whole_texts`: their length is the point, so none is cut. `watched`: another program trains it. */
  interface Run {
    title: string;
    experiment: string;
    story: string;
    note: string;
    id: string;
    wrong_on_purpose: string;
    mystery: boolean;
    preset: string;
    recorded: boolean;
    watched: boolean;
    forked: boolean;
    unit: string;
    engine: string;
    can_steer: boolean;
    keeps_checkpoints: boolean;
    no_traces: string;
    adaptive: boolean;
    target: number | null;
    every: number;
    system: string;
    terms: Term[];
    judges: Term[];
    counted: BehaviourName[];
    whole_texts: boolean;
    settings: Setting[];
  }

  /** A run by its names. */
  interface RunNames {
    title: string;
    experiment: string;
    story: string;
    note: string;
    id: string;
    wrong_on_purpose: string;
  }

  /** The run with which another is compared; `notice`: what to know before. */
  interface Other {
    title: string;
    experiment: string;
    story: string;
    note: string;
    id: string;
    wrong_on_purpose: string;
    update: number | null;
    notice: string;
  }

  /** Which completion of the fixed prompts. */
  interface AskedAnswer {
    promptId: number;
    seed: number;
    update: number;
  }

  /** One answer; `shows`: yes or no of each behaviour that it was asked for; `read`: what a check of answers reads in it, where there is one. */
  interface Side {
    text: string;
    at: AskedAnswer;
    score: number | null;
    kl: number | null;
    tokens: number | null;
    scores: Record<string, number | null>;
    judges: Record<string, number | null>;
    shows: Record<string, boolean>;
    read: Reading | null;
  }

  /** One prompt answered twice. */
  interface Pair {
    id: number;
    seed: number;
    prompt: string;
    gain: number | null;
    before: Side;
    after: Side;
  }

  /** One moment of a run against another one. */
  interface Comparison {
    moments: number[];
    one_moment?: string;
    update: number | null;
    other: Other | null;
    measured: boolean;
    outcome: string;
    terms: string[];
    judges: string[];
    table: RewardRow[];
    behaviours: Behaviours | null;
    passes: [string, string, string, string][];
    before: MomentSummary | null;
    after: MomentSummary | null;
    rows: Pair[];
  }

  /** With the run. `knows`: what its model can talk about. */
  interface Compare {
    moments: number[];
    one_moment?: string;
    update: number | null;
    other: Other | null;
    measured: boolean;
    outcome: string;
    terms: string[];
    judges: string[];
    table: RewardRow[];
    behaviours: Behaviours | null;
    passes: [string, string, string, string][];
    before: MomentSummary | null;
    after: MomentSummary | null;
    rows: Pair[];
    run: Run;
    state: "queued" | "starting" | "running" | "paused" | "stopping" | "finished" | "stopped" | "failed" | "interrupted";
    knows: string;
  }

  /** One behaviour at every evaluation, in per cent. */
  interface Shares {
    name: string;
    words: string;
    evaluations: Record<string, (number | null)[]>;
  }

  /** In words. */
  interface BillExtra {
    operations: string;
  }

  type BillInWords = Omit<Bill, "operations"> & BillExtra;

  /** How a run went. */
  interface Went {
    evaluations: Record<string, (number | null)[]>;
    possible: Possible | null;
    behaviours: Shares[];
    bill: BillInWords | null;
    end: Headline | null;
  }

  /** One run of an overlay. `there`: at the KL that all have reached. */
  interface Overlaid {
    evaluations: Record<string, (number | null)[]>;
    possible: Possible | null;
    behaviours: Shares[];
    bill: BillInWords | null;
    end: Headline | null;
    id: string;
    title: string;
    experiment: string;
    wrong_on_purpose: string;
    model: string;
    engine: string;
    method: string;
    seed: number | null;
    unit: string;
    state: "queued" | "starting" | "running" | "paused" | "stopping" | "finished" | "stopped" | "failed" | "interrupted";
    update: number;
    num_updates: number;
    ended: boolean;
    metrics: Record<string, (number | null)[]>;
    there?: PathPoint | null;
  }

  /** One value for each run. */
  interface DifferingSetting {
    label: string;
    unit: string;
    values: string[];
  }

  /** Several runs in one set of charts. `reached`: the KL at which they are compared. */
  interface Overlay {
    reached: number | null;
    runs: Overlaid[];
    problems: string[];
    settings: DifferingSetting[];
    scores_differ: string;
  }

  /** The answers so far. */
  interface Answers {
    state: "empty" | "asking" | "done" | "error";
    prompt?: string;
    count?: number;
    samples?: GeneratedSample[];
    message?: string;
  }

  /** Where beta is too tight to see anything, and too loose to hold; `how` these come about, in words. */
  interface Regimes {
    tight: number | null;
    loose: number | null;
    how: string;
  }

  /** What is wrong with a setting. */
  interface Problem {
    field: string;
    label?: string;
    message: string;
  }

  /** A setting in words, as it is and as it would be. */
  interface Difference {
    field: string;
    label: string;
    before: string;
    after: string;
  }

  /** What would fit a model: as the suggested one most `like` it has it, or as its `own` preset; `origin`: how those settings came about. */
  interface Fit {
    differences: Difference[];
    values: Record<string, string | number | boolean | null>;
    like: string;
    own: boolean;
    origin: string;
  }

  /** A number as static/core/knob.js draws it: `slider` is its lowest, highest value and step; `none` what an empty field is called; `pocket`: for the annotators only; `values`: those that can be taken, where not each step can. */
  interface Knob {
    field?: string;
    label: string;
    help: string;
    low: string;
    high: string;
    unit: string;
    slider: [number, number, number] | null;
    values?: number[];
    log: boolean;
    live?: boolean;
    plain?: string;
    optional: boolean;
    whole?: boolean;
    default?: string | number | boolean | null;
    none?: string;
    pocket?: boolean;
  }

  /** What the form began with beside the preset: changes that were `kept` or came in a link, or why not. */
  interface Restored {
    refused?: Problem[];
    kept?: boolean;
    count?: number;
    use?: Record<string, string | number | boolean | null>;
  }

  /** Settings that the method does not read. */
  interface Unused {
    by: string;
    sentence: string;
    fields: string[];
  }

  /** What is said of the form, see `filling.notes_on`; `show`: when a start was refused. */
  interface Notes {
    preset?: string;
    kept?: string | null;
    link?: string;
    no_link?: string;
    problems?: Problem[];
    queue?: string;
    differences?: Difference[];
    marks?: Record<string, string | number | boolean | null>;
    regimes?: Regimes | null;
    rewards?: Reward[];
    suiting?: string[];
    about?: About;
    unused?: Unused;
    show?: number;
    coming?: boolean;
    restored?: Restored | null;
    use?: Record<string, string | number | boolean | null>;
    undo?: Record<string, string | number | boolean | null>;
    at?: number;
  }

  /** The words above the form. */
  interface Story {
    preset: string;
    title: string;
    model: string;
    reward: string;
    taught: string;
    changed: string;
    what: string;
    expect: string;
    measured: string;
    settings_of: string;
  }

  /** What became of an upload. */
  interface Uploaded {
    sentence?: string;
    problem?: string;
    at?: number;
  }

  /** What the form says beside an estimate; `use` and `undo` go to and fro, see train_page.py. */
  interface NeedsExtra {
    model: string;
    fit: Fit | null;
    quota: string;
    problem: string;
    use?: Record<string, string | number | boolean | null> | null;
    undo?: Record<string, string | number | boolean | null>;
    at?: number;
  }

  type Needs = Estimate & NeedsExtra;

  /** Why there is no estimate. */
  interface NoNeeds {
    problem: string;
  }

  /** What every reward has, as the picker holds it. */
  interface RewardOwn {
    kind: string;
    weight: number | string;
    normalise?: boolean;
    cap?: number | string | null;
  }

  type Reward = RewardOwn & Record<string, string | number | boolean | null>;

  /** A behaviour as its picker holds it; `measure`: of one's own. */
  interface Behaviour {
    name: string;
    words: string;
    aim: string;
    above: number | string;
    measure: Reward | null;
  }

  /** One that ships. */
  interface ReadyBehaviour {
    name: string;
    words: string;
    aim: string;
    help: string;
  }

  /** A field that only one kind of reward has; `lines` of its box, for a longer text. */
  interface RewardField {
    name: string;
    label: string;
    hint: string;
    options: string[];
    number: boolean;
    rare: boolean;
    default: string | number | boolean | null;
    lines: number;
  }

  /** A kind of reward that can be chosen. */
  interface RewardKind {
    kind: string;
    label: string;
    help: string;
    weight: number;
    warning: string;
    fields: RewardField[];
  }

  /** What several parts offer to choose from; the page has it once. */
  interface Lists {
    kinds: RewardKind[];
    functions: Function[];
  }

  /** What is kept of the training texts of an update. */
  interface RolloutUpdate {
    update: number;
    histogram: Histogram;
    texts: RolloutText[];
    previous: number | null;
    next: number | null;
  }

  /** With the mean score of the update. */
  interface Rollout {
    update: number;
    histogram: Histogram;
    texts: RolloutText[];
    previous: number | null;
    next: number | null;
    mean: number | null;
  }

  /** Why a run has no such figure. */
  interface Absent {
    reward?: string;
    value?: string;
  }

  type TokensLook = Omit<TokenFigures, "attempt" | "prompt_id">;

  /** The answers to one prompt token by token, look by look; without any, `why` not. */
  interface Tokens {
    looks: TokensLook[];
    absent: Absent;
    unit: string;
    why: string;
  }

  /** The batch; `kept`: so many of its episodes. */
  interface TraceBatch {
    episodes: number;
    tokens: number;
    mean: number;
    sd: number;
    complete: boolean;
    kept: number;
  }

  /** What can be asked to be otherwise. */
  interface WhatIf {
    kl_coef: number;
    gamma: number;
    gae_lambda: number;
    clip_range: number;
  }

  /** What the episodes of the same prompt earned; `place`: which of them this one is. */
  interface Group {
    earned: number[];
    place: number;
    mean: number;
    sd: number;
    others_mean: number;
  }

  /** Both sides of the minimum in the loss, and what the leash adds to it, where it is in the loss. */
  interface PassExtra {
    clamped: number[];
    free: number[];
    held: number[];
    kl_losses: number[];
  }

  type Pass = TracedPass & PassExtra;

  /** What is computed of an episode beside what was recorded. */
  interface EpisodeExtra {
    log_ratios: number[];
    probabilities: number[];
    score_paid: number[];
    group: Group | null;
    passes: Pass[];
  }

  type Episode = Omit<TracedEpisode, "passes"> & EpisodeExtra;

  /** Tokens below, within and above the clip range, for advantages above 0 and below it. */
  interface Sides {
    up: number[];
    down: number[];
  }

  /** The tokens of the last minibatch of an epoch, see `inside_part._picture`. */
  interface Picture {
    step: number;
    rows: number[];
    log_ratios: number[];
    advantages: number[];
    clipped: boolean[];
    counts: Sides;
    edges: [number | null, number];
    tokens: number;
    epoch: number;
    minibatch: number;
    after: boolean;
    starts: Record<number, number>;
    drawn: number;
    num_clipped: number;
    share: number;
  }

  type TraceStep = Omit<TracedStep, "rows" | "log_ratios">;

  /** What the text scored. */
  interface ScoredExtra {
    score: number;
  }

  /** The texts of one prompt, by their `places` among `texts`, with mean and spread (n in the variance) of their scores. Where a prompt has one text: all of them, of several prompts, without mean and spread. */
  interface PromptGroup {
    prompt: string;
    places: number[];
    mean: number | null;
    sd: number | null;
    alike: boolean;
  }

  /** A knob of a what-if question. */
  interface TraceKnob {
    field?: string;
    label: string;
    help: string;
    low: string;
    high: string;
    unit: string;
    slider: [number, number, number] | null;
    values?: number[];
    log: boolean;
    live?: boolean;
    plain?: string;
    optional: boolean;
    whole?: boolean;
    default?: string | number | boolean | null;
    none?: string;
    pocket?: boolean;
    name: string;
  }

  /** Lines of examples/minimal_rlhf.py. */
  interface Minimal {
    function: string;
    lines: string[];
  }

  /** One update in slow motion; `changed`: under other settings than the recorded ones; `minimal`: by step, where that file computes it as this run did. */
  interface Trace {
    update: number;
    changed: boolean;
    no_what_if: string;
    recorded: WhatIf;
    settings: TracedSettings;
    batch: TraceBatch;
    steps: TraceStep[];
    clip_fraction: number;
    knobs: TraceKnob[];
    pictures: Picture[];
    episodes: Episode[];
    groups: PromptGroup[];
    texts: (TracedText & ScoredExtra)[];
    formulas: TracedFormula[];
    minimal: Record<string, Minimal>;
  }

  /** The trained score or a monitor: its change since the first evaluation, and half of its interval. */
  interface JudgedLine {
    name: string;
    label: string;
    comparable: boolean;
    mean: (number | null)[];
    half: (number | null)[];
  }

  /** Where a monitor began to fall while the score rose. */
  interface Turn {
    label: string;
    update: number;
  }

  /** What a monitor says, in words. */
  interface Verdict {
    text: string;
    turned: boolean;
  }

  /** The trained score and the monitors at every evaluation. */
  interface Judged {
    updates: number[];
    lines: JudgedLine[];
    turns: Turn[];
    verdicts: Verdict[];
  }

  /** What to try: settings, and where they can be tried. `fork`: the update to fork from. */
  interface OfferedRemedy {
    words: string;
    changes: Record<string, string | number | boolean | null>;
    live: boolean;
    form: boolean;
    fork: number | null;
  }

  /** What to try. */
  interface OfferedRemedies {
    remedies: OfferedRemedy[];
  }

  type RunCheck = Omit<Alert, "remedies"> & OfferedRemedies;

  /** What drawn texts show to be possible; `trusted`: so many points of the optimum. */
  interface Possible {
    start: number | null;
    best_of: Record<string, (number | null)[]>;
    optimum: Record<string, (number | null)[]>;
    trusted: number;
  }

  /** The same with words. `missing`: why nothing is known of what is possible. */
  interface Frontier {
    evaluations: Record<string, (number | null)[]>;
    possible: Possible | null;
    unit: string;
    beta: number | null;
    sentence: string;
    missing: string;
    can_draw: boolean;
  }

  /** Where the gain came to its end. */
  interface Plateau {
    update: number;
    sentence: string;
  }

  /** A part of the work; `operations` in words. */
  interface Phase {
    name: string;
    seconds: number;
    share: number;
    operations: string;
  }

  /** The compute ledger. */
  interface Compute {
    sentence: string;
    parameters: number | null;
    trained: number | null;
    phases: Phase[];
  }

  /** What a run came to. */
  interface Outcome {
    weights: boolean;
    plateau: Plateau | null;
    sentences: string[];
    compute: Compute | null;
    adapter: boolean;
    trl: string[];
  }

  /** A choice: what it says. */
  interface Option {
    say: string;
  }

  /** What is asked before Start. A choice has `options`; a number is of a fact, between `low` and `high`, and close where it is no further off than `near`; a curve is of a column of the metrics, with the `shapes` to choose from. */
  interface Prediction {
    ask: string;
    kind: "choice" | "number" | "curve";
    options: Option[];
    unit: string;
    low: number;
    high: number;
    step: number;
    near: number;
    column: string;
    shapes: string[];
  }

  /** A run that a lesson starts. `changes`: in words, what differs from its preset; `twin`: whether a recording of exactly this ships; `planted`: whether it has a mistake on purpose, which a public page refuses. */
  interface LessonRun {
    preset: string;
    title: string;
    why: string;
    changes: string[];
    twin: boolean;
    planted: boolean;
  }

  /** A task at the end: to reach something by changing the `knobs`, from their `values` in the first run. `solution`: what is known to reach it, in words, or "". */
  interface BreakIt {
    ask: string;
    knobs: Knob[];
    values: Record<string, string | number | boolean | null>;
    hints: string[];
    solution: string;
  }

  type Claim = ChapterClaim;

  /** A lesson without its answers. `look`: parts of the page that are in sight (lessons.PARTS); `figures`: the columns of the metrics whose curves are shown of all (none: all); `minutes`: to read and run; `done`: what has been done, by the names of the trade, or "". */
  interface Lesson {
    name: string;
    number: number;
    title: string;
    minutes: number;
    question: string;
    situation: string;
    predict: Prediction;
    runs: LessonRun[];
    look: string[];
    figures: string[];
    break_it: BreakIt | null;
    transfer: Question;
    chapter: Claim | null;
    done: string;
  }

  /** Lessons in their order; `questions` are asked before the first one and after the last one. */
  interface Course {
    name: string;
    title: string;
    about: string;
    minutes: number;
    lessons: Lesson[];
    questions: Question[];
  }

  /** All of them. */
  interface Lessons {
    courses: Course[];
  }

  /** Asked of the server to start a run of a lesson. `index`: which of its runs, or as many as there are for the task to break it, with the `values` of its knobs. */
  interface LessonStart {
    lesson: string;
    index: number;
    values: Record<string, string | number | boolean | null>;
    request: string;
  }

  /** How a run ended. */
  interface End {
    title: string;
    remedy: string;
  }

  /** A figure by which runs are listed (`analysis.run_figures`). `down`: its largest value comes first. */
  interface RunColumn {
    key: string;
    label: string;
    kind: "words" | "setting" | "signed" | "number" | "seconds";
    title: string;
    down: boolean;
  }

  /** Where a run is now. `place`: in the queue. */
  interface RunStanding {
    state: "queued" | "starting" | "running" | "paused" | "stopping" | "finished" | "stopped" | "failed" | "interrupted";
    message: string;
    update: number;
    num_updates: number;
    started_at: number;
    end: End | null;
    resumable: boolean;
    attempt: number;
    place: number | null;
    sweep: string | null;
  }

  type ListedRun = RunRow & RunStanding;

  type Figure = FigureValue;

  /** The setting of a sweep with the highest gain, of so many. */
  interface BestSetting {
    of: number;
    setting: string;
  }

  /** How far a sweep is; `left`: seconds, the likely least and most. */
  interface SweepProgress {
    on: string;
    state: string;
    words: string;
    done: number;
    total: number;
    ended: boolean;
    unmade: number;
    left: [number, number] | null;
  }

  /** A sweep as a row of the history. */
  interface SweepRow {
    on: string;
    state: string;
    words: string;
    done: number;
    total: number;
    ended: boolean;
    unmade: number;
    left: [number, number] | null;
    id: string;
    title: string;
    varies: string;
    preset: string;
    resumable: boolean;
    started_at: number;
    unit: string;
    figures: Record<string, Figure>;
    best: BestSetting | null;
  }

  /** All of it, the newest first. */
  interface History {
    columns: RunColumn[];
    runs: ListedRun[];
    sweeps: SweepRow[];
  }

  /** A setting that varies. */
  interface FieldName {
    label: string;
    unit: string;
  }

  /** One run of a setting. */
  interface SweepRun {
    id: string;
    seed: number | null;
    state: "queued" | "starting" | "running" | "paused" | "stopping" | "finished" | "stopped" | "failed" | "interrupted" | "gone";
    update?: number;
    num_updates?: number;
    message?: string;
  }

  /** A share over seeds, in per cent. */
  interface SeedShare {
    mean: number | null;
    low: number | null;
    high: number | null;
  }

  /** What the charts draw of a setting. */
  interface DrawnSetting {
    metrics: Columns;
    evaluations: Record<string, (number | null)[]>;
  }

  /** One setting of a sweep; the first few have curves. */
  interface SettingRow {
    title: string;
    values: string[];
    runs: SweepRun[];
    finished: number;
    gain: Interval | null;
    kl: Interval | null;
    shares: Record<string, SeedShare>;
    monitors: Record<string, Interval>;
    metrics?: Columns;
    evaluations?: Record<string, (number | null)[]>;
  }

  /** A sweep in full. */
  interface Sweep {
    on: string;
    state: string;
    words: string;
    done: number;
    total: number;
    ended: boolean;
    unmade: number;
    left: [number, number] | null;
    name: string;
    varies: string;
    fields: FieldName[];
    seeds: number;
    unit: string;
    num_updates: number;
    scores_differ: string;
    behaviours: string[];
    monitors: string[];
    settings: SettingRow[];
    ends: Record<string, (number | null)[]>;
  }

  /** With what the form of a sweep begins. */
  interface UsualField {
    field: string;
    values: string;
  }

  /** What that form offers. */
  interface SweepChoices {
    presets: [string, [string, string][]][];
    fields: [string, string][];
    values: Record<string, string>;
    first: UsualField;
    seeds: number;
    most: number;
  }

  /** What the server functions for sweeps answer. */
  interface SweepAnswer {
    error: string;
    problems: Problem[];
    count: number;
    seconds: [number, number] | null;
    beside: number;
    told: string;
    name: string;
    going?: number;
    refused?: [string, string][];
  }

  /** A reward or a monitor. */
  interface Term {
    name: string;
    label: string;
  }

  /** A behaviour that is counted. */
  interface BehaviourName {
    name: string;
    words: string;
  }

  /** One of the few settings that stand in the head of a run. */
  interface Setting {
    field: string;
    label: string;
    value: string;
    unit: string;
  }

  /** Where a run is by its status.json. `elapsed` and `left` (the likely least and most) are seconds. */
  interface Where {
    state: "queued" | "starting" | "running" | "paused" | "stopping" | "finished" | "stopped" | "failed" | "interrupted";
    phase: string;
    reason: string;
    message: string;
    update: number;
    num_updates: number;
    attempt: number;
    ended: boolean;
    end: End | null;
    elapsed: number;
    left: number[] | null;
    outcome: string;
  }

  /** With what else is known of it: see `run_state.RunState`. */
  interface Status {
    state: "queued" | "starting" | "running" | "paused" | "stopping" | "finished" | "stopped" | "failed" | "interrupted";
    phase: string;
    reason: string;
    message: string;
    update: number;
    num_updates: number;
    attempt: number;
    ended: boolean;
    end: End | null;
    elapsed: number;
    left: number[] | null;
    outcome: string;
    before: number | null;
    silent: number | null;
    stopping: number | null;
  }

  /** Something that happened; `field` and `value` of a changed setting. */
  interface Event {
    kind: string;
    update: number;
    message: string;
    field?: string;
    value?: number | null;
    attempt?: number;
  }

  /** A fixed prompt. */
  interface Prompt {
    id: number;
    text: string;
  }

  /** Its completion. */
  interface Answer {
    id: number;
    text: string;
    score: number | null;
    kl: number | null;
  }

  /** One evaluation; `examples`: ids of the prompts that show best what has changed. */
  interface Moment {
    update: number;
    stage: "before" | "during" | "after";
    examples: number[];
    summary: MomentSummary;
    rows: Answer[];
  }

  /** Perplexity on held-out text. */
  interface TextPerplexity {
    update: number;
    value: number | null;
  }

  /** What a snapshot has, and each delta in which it changed. */
  interface Known {
    regimes: Regimes | null;
    judged: Judged | null;
    behaviours: Behaviours | null;
    alerts: RunCheck[] | null;
    farmed: string;
    text: TextPerplexity[];
    prompts: Prompt[];
    updates: number[];
  }

  /** All of a run. `live`: values of the settings that can be changed now. */
  interface Snapshot {
    regimes: Regimes | null;
    judged: Judged | null;
    behaviours: Behaviours | null;
    alerts: RunCheck[] | null;
    farmed: string;
    text: TextPerplexity[];
    prompts: Prompt[];
    updates: number[];
    run: Run;
    status: Status;
    live: Record<string, number | null>;
    metrics: Columns;
    events: Event[];
    moments: Moment[];
  }

  /** What is new. */
  interface Delta {
    regimes?: Regimes | null;
    judged?: Judged | null;
    behaviours?: Behaviours | null;
    alerts?: RunCheck[] | null;
    farmed?: string;
    text?: TextPerplexity[];
    prompts?: Prompt[];
    updates?: number[];
    run?: Names;
    status?: Status;
    metrics?: Columns;
    events?: Event[];
    moments?: Moment[];
  }

  /** The same for a page that cannot keep a stream open: a snapshot, or deltas. */
  interface Poll {
    cursor: string;
    snapshot?: Snapshot;
    deltas?: Delta[];
  }

  interface ResumeOffer {
    from: number | null;
    skipped: string[];
    instead: string;
  }

  /** What a route answers that has nothing else to say. */
  interface Error {
    error: string;
  }

  /** A mistake to choose: what it is called here, what it is, and what one would see if it were that. */
  interface Mistake {
    name: string;
    say: string;
    shows: string;
  }

  /** The ids of the recorded ones in their order, what can be chosen, and whether a new one may be trained here. */
  interface Mysteries {
    runs: string[];
    mistakes: Mistake[];
    trains: boolean;
  }

  /** What was planted in a run. `lamp` and `state`: of the check that it lights, with the `evidence` in this run, at its end or, where it is lit no longer, after `update`; `wrong` and `right`: the lines with it and without it, which stand in the program `of`; `where`: where it has happened. */
  interface MysteryAnswer {
    name: string;
    because: string;
    lamp: string;
    state: string;
    evidence: string;
    update: number;
    wrong: string[];
    right: string[];
    of: string;
    where: string;
  }

  /** Asked of the server to start a mystery run: a new one, or `run` without its mistake. */
  interface MysteryStart {
    run: string;
    request: string;
  }

  /** `may`: the right to each action; `caps`: those of runs, in words; `samples`: most of a question on the Compare page, if there is a cap; `own`: whether the run is one's own. */
  interface Access {
    mode: string;
    role: "host" | "visitor";
    may: Record<string, "yes" | "own" | "no">;
    notice: string;
    caps: string[];
    samples: number | null;
    share: string[];
    own: boolean;
  }

  /** A run that trains; `device`: where there are several. */
  interface TrainingRun {
    id: string;
    title: string;
    attempt: number;
    device: string | null;
  }

  /** `living`, `newest`, `shown`: run ids; `recorded`: preset -> run id. */
  interface Home {
    machine: string;
    living: string | null;
    training: TrainingRun[];
    waiting: string[];
    newest: string | null;
    shown: string | null;
    recorded: Record<string, string>;
  }

  /** An experiment of the story; `against`: the preset that it is to be held against. */
  interface Step {
    preset: string;
    number: number;
    title: string;
    against: string;
    look: string;
  }

  /** A text of one's own. */
  interface TypedText {
    side: "A" | "B";
    text: string;
  }

  /** Whose samples these are. */
  interface BenchAbout {
    model: string;
    prompts: string;
  }

  /** How learned rewards become one, as the Train page has it. */
  interface Ensemble {
    combine: "sum" | "mean" | "min" | "cautious";
    caution: number;
  }

  /** What the first reward that checks answers reads, of the typed texts and of the samples; empty without one. */
  interface Readings {
    texts: Reading[];
    samples: Reading[];
  }

  /** What the workbench shows: raw values by reward of the typed texts and of samples of the untrained model. */
  interface Bench {
    state: "empty" | "asking" | "done" | "error";
    problems?: string[];
    phase?: string;
    done?: number;
    of?: number;
    names?: string[];
    labels?: string[];
    ensemble?: Ensemble;
    rewards?: Reward[];
    texts?: Record<string, (number | null)[]>;
    reference?: Record<string, (number | null)[]>;
    samples?: DrawnSample[];
    outlooks?: string[];
    readings?: Readings;
    sides?: TypedText[];
    about?: BenchAbout;
  }

  /** One reward as it is weighed. */
  interface WeighedTerm {
    label: string;
    weight: number | null;
    normalise: boolean;
    cap: number | null;
  }

  /** One text: what each term adds, in sd above the reference's average; score and rank; of an ensemble how far apart its learned rewards are, in sd of the score. */
  interface WeighedSample {
    raw: (number | null)[];
    z: (number | null)[];
    total: number | null;
    score: number;
    adds: number[];
    disagreement: number | null;
    rank?: number;
  }

  /** A typed one; `better`: the share of samples that score lower. */
  interface WeighedText {
    raw: (number | null)[];
    z: (number | null)[];
    total: number | null;
    score: number;
    adds: number[];
    disagreement: number | null;
    rank?: number;
    better?: number;
  }

  /** By how much one reward prefers the winner. */
  interface DuelTerm {
    label: string;
    by: number;
  }

  /** Which of two texts wins. */
  interface Duel {
    winner: number;
    by: number;
    terms: DuelTerm[];
  }

  /** The ranking, or why there is none. `missing`: kinds that were not measured. */
  interface Weighed {
    error?: string;
    terms?: WeighedTerm[];
    missing?: string[];
    texts?: WeighedText[];
    samples?: WeighedSample[];
    sd?: number;
    order?: number[];
    duel?: Duel | null;
  }

  /** The controls of the training panel. */
  interface RewardForm {
    annotators: Choice[];
    bases: Choice[];
    help: Record<string, string>;
    base: string;
    first: Knob[];
    more: Knob[];
    templates: string[];
  }

  /** What became of a start; `exists`: there is one of that name. */
  interface RewardStart {
    error?: string;
    name: string | null;
    exists: boolean;
    problems: Problem[];
  }

  /** What became of an uploaded file of pairs. */
  interface UploadedPairs {
    uploaded: string | null;
    problem: string;
    sentence?: string;
    at?: number;
  }

  /** A reward model in the list. */
  interface RewardModelRow {
    name: string;
    state: "queued" | "starting" | "running" | "paused" | "stopping" | "finished" | "stopped" | "failed" | "interrupted";
    started_at: number;
    accuracy: number | null;
  }

  /** All of them; `living`: the one in training. */
  interface RewardModels {
    living: string | null;
    models: RewardModelRow[];
  }

  /** Of a training. */
  interface Curve {
    step: number[];
    loss: (number | null)[];
    accuracy: (number | null)[];
  }

  /** A histogram. */
  interface Margins {
    edges: number[];
    counts: number[];
  }

  /** What a reward model is worth on held-out pairs. */
  interface PairReport {
    num_pairs: number;
    accuracy: number;
    accuracy_low: number;
    accuracy_high: number;
    true_accuracy: number | null;
    score_mean: number;
    score_sd: number;
    loss: number;
    margin_mean: number;
    margins: Margins;
  }

  /** The card of a trained one; `counts`: its pairs in words; `doubt`: why it may be no better than chance, or "". */
  interface RewardCard {
    name: string;
    template: string;
    max_length: number;
    report: PairReport;
    base: string;
    counts: string;
    doubt: string;
  }

  /** One training of a reward model. */
  interface RewardTraining {
    name: string;
    pairs: string;
    base: string;
    settings: string;
    state: "queued" | "starting" | "running" | "paused" | "stopping" | "finished" | "stopped" | "failed" | "interrupted";
    phase: string;
    message: string;
    step: number;
    num_steps: number;
    seconds: number;
    ended: boolean;
    training: Curve;
    held_out: Curve;
    card: RewardCard | null;
    log: string;
  }

  /** One finding of a self-test. */
  interface Finding {
    level: "ok" | "warn" | "fail";
    name: string;
    text: string;
  }

  /** What fewer bits cost, against the same network in full. */
  interface FewerBits {
    quantization: string;
    rank_correlation: number | null;
    pair_agreement: number | null;
    bytes_full?: number;
  }

  /** One completion as the model reads it; `length` in tokens, of which the first are shown. */
  interface ReadExample {
    prompt?: string;
    completion?: string;
    ids?: number[];
    tokens?: string[];
    special?: boolean[];
    length?: number;
  }

  /** How long its texts are, in tokens. */
  interface ReadLengths {
    mean?: number;
    longest?: number;
    limit?: number | null;
    cut_share?: number;
  }

  /** A completion and its score. */
  interface ExampleScore {
    prompt?: string;
    completion?: string;
    score?: number;
  }

  /** Scores of completions of the untrained model. */
  interface Spread {
    completions?: number;
    mean?: number;
    sd?: number;
    lowest?: number;
    highest?: number;
  }

  /** How often good beats bad; `generic`: on the built-in pairs. */
  interface TestedPairs {
    source?: string;
    count?: number;
    generic?: boolean;
    accuracy?: number;
  }

  /** The same pairs in one prompt format. `ahead`: of the one in force, in accuracy. */
  interface TriedFormat {
    name: string;
    help: string;
    in_force: boolean;
    accuracy: number;
    margin: number;
    margin_error: number;
    ahead: number;
    ahead_error: number;
    example: string;
  }

  /** The self-test of a reward model (training/rewards/format_check.py); empty what could not be measured. */
  interface RewardReport {
    name: string;
    source: string;
    verdict: "ok" | "warn" | "fail";
    findings: Finding[];
    template: string;
    output: string;
    max_length: number | null;
    bytes_held: number;
    cost: FewerBits | null;
    example: ReadExample;
    lengths: ReadLengths;
    good: ExampleScore;
    bad: ExampleScore;
    reference: Spread;
    pairs: TestedPairs;
    formats: TriedFormat[];
  }

  /** What the panel of the self-test shows. */
  interface RewardCheck {
    state: "empty" | "asking" | "done" | "error";
    phase?: string;
    done?: number;
    of?: number;
    message?: string;
    report?: RewardReport;
  }

  /** What a server function answers: an error, empty when all is well, and what it has to say beside. */
  interface Done {
    error: string;
    problems?: Problem[];
    sentence?: string;
  }

  /** Of changed settings. */
  interface EditsAnswer {
    error: string;
    problems?: Problem[];
    sentence?: string;
    edits?: Record<string, number | null>;
  }

  /** Of a saved model. */
  interface Saved {
    error: string;
    problems?: Problem[];
    sentence?: string;
    folder?: string;
  }

  /** Of a resumed run. */
  interface Resumed {
    error: string;
    problems?: Problem[];
    sentence?: string;
    attempt?: number;
  }

  /** Of a run that was started: a fork, or one of a lesson; `sentence` says why it waits, if it does. */
  interface Started {
    error: string;
    problems?: Problem[];
    sentence?: string;
    run?: string;
  }

  /** What a model wrote to a prompt before training, and one that was trained at some leash. */
  interface PolicyAnswer {
    error: string;
    problems?: Problem[];
    sentence?: string;
    before?: string;
    now?: string;
  }

  /** A checkpoint, with the settings in force there. */
  interface ForkPoint {
    update: number;
    values: Record<string, string | number | boolean | null>;
  }

  /** Where a run can be forked, and the knobs of what can be set then. */
  interface ForkPoints {
    error: string;
    problems?: Problem[];
    sentence?: string;
    points?: ForkPoint[];
    knobs?: Knob[];
  }

  /** How far the drawing of texts is; empty where nothing is drawn. */
  interface FrontierProgress {
    phase?: string;
    done?: number;
    of?: number;
    error?: string;
  }

  /** The real model from PyPI: whether it is here or being got, where that is, in words, and what it is. `error`: why the last try has failed, or that it was stopped. */
  interface RealModel {
    error: string;
    problems?: Problem[];
    sentence?: string;
    state: "absent" | "getting" | "here";
    words: string;
    name: string;
    label: string;
    mark: string;
    licence: string;
    download_mb: number;
    disk_mb: number;
  }

  /** Of a run, a fork, a sweep, the form, of rewards, and of the real model. */
  interface ServerAnswers {
    stop_run: Done;
    steer_run: Done;
    change_settings: EditsAnswer;
    end_run: Done;
    name_run: Done;
    delete_run: Done;
    save_model: Saved;
    resume_run: Resumed;
    fork_run: Started;
    fork_points: ForkPoints;
    draw_frontier: Done;
    frontier_progress: FrontierProgress;
    stop_trial: Done;
    start_lesson: Started;
    start_mystery: Started;
    ask_policy: PolicyAnswer;
    plan_sweep: SweepAnswer;
    start_sweep: SweepAnswer;
    stop_sweep: SweepAnswer;
    delete_sweep: SweepAnswer;
    resume_sweep: SweepAnswer;
    add_seeds: SweepAnswer;
    reward_models: string[];
    reward_problem: string;
    weigh_rewards: Weighed;
    start_training: RewardStart;
    stop_training: Done;
    delete_reward_model: Done;
    real_model: RealModel;
    get_real_model: RealModel;
    stop_real_model: RealModel;
  }

  /** Where the host is on the page: the query of its address, the update and the text (of which prompt) that are opened, and how many updates of a recording are shown; None: it plays, or is none. */
  interface ClassLocation {
    query: string;
    update: number | null;
    text: number | null;
    played: number | null;
  }

  /** What was answered in one round. `counts`: of each option, or of each bin of numbers; `hands`: of each answer, as the host has counted them in the room. */
  interface ClassRound {
    answered: number;
    counts: number[];
    numbers: number[];
    shapes: Record<string, number>;
    hands: number[];
  }

  /** What came of a question, once it is shown. `reveal`: what its run says; `whys`: of the last question of a lesson, why an answer is right or not. */
  interface ClassResults {
    rounds: ClassRound[];
    right: number | null;
    whys: string[];
    reveal: Reveal | null;
  }

  /** A question as it is asked; `predict`: its form, also where it is none of a lesson's predictions; `lesson`: the name of the one that is asked to predict. */
  interface ClassQuestion {
    predict: Prediction;
    title: string;
    lesson: string;
    situation: string;
  }

  /** Two completions of a prompt, in the order in which this person sees them; `number`: what their vote names; `after`: once it is shown, which of them is from after training. */
  interface ClassPair {
    number: number;
    prompt: string;
    left: string;
    right: string;
    after: "left" | "right" | "";
  }

  /** The votes on one pair: for its first text, its second, or that both are as good. */
  interface PairVotes {
    number: number;
    first: number;
    second: number;
    tie: number;
  }

  /** The texts of a pair, and what was voted on it. */
  interface ClassVotedPair {
    prompt: string;
    first: string;
    second: string;
    votes: PairVotes;
  }

  /** What came of a vote, in sentences, and some of its pairs: those with the most agreement, and those on which people are divided; `agree`: they are on none. */
  interface ClassTally {
    said: string[];
    clear: ClassVotedPair[];
    split: ClassVotedPair[];
    agree: boolean;
  }

  /** Pairs to vote on. `sides`: what the first and the second text of each are, where it is hidden which is which; `brief`: what this person's group is asked to look for, `means`: what everyone is; `wait`: why there are no pairs yet; `done` and `begun`: how many people have voted on all of their pairs or on some, for the screen and the desk only; `tally`: once it is shown. */
  interface ClassVote {
    title: string;
    wait: string;
    means: string;
    sides: string[];
    pairs: ClassPair[];
    brief: string;
    briefs: string[];
    done: number;
    begun: number;
    tally: ClassTally | null;
  }

  /** How much a word raises a reward model's score, more than other words do. */
  interface ClassWord {
    word: string;
    moves: number;
  }

  /** A reward model that learns, or has learned, from a vote. `said`: where it is, or how good it is; `words`: those that move it most, once they have been looked for, which is done now while `reading`; `run`: the run that it pays. */
  interface ClassJudge {
    name: string;
    step: number;
    brief: string;
    state: string;
    said: string[];
    words: ClassWord[];
    reading: boolean;
    run: string;
    run_said: string;
    run_done: boolean;
  }

  /** A model, or a run (`trained`), whose texts can be voted on. */
  interface ClassSource {
    value: string;
    label: string;
    trained: boolean;
  }

  /** What the desk shows of votes. `doing`: what is being done now, `problem`: why it did not work. Of the vote that the class is at: `live`, what it comes to, for the host only, and `groups`, those that can have a judge of their own. For the next one: `sources`, whose texts there are. */
  interface ClassVoteDesk {
    doing: string;
    problem: string;
    judges: ClassJudge[];
    live: string[];
    groups: string[];
    sources: ClassSource[];
  }

  /** What one reward came to: `run` and its `state`; what the reward paid, before and after, and whether that rose by more than chance; what was wanted, and how that changed in words; a text. Never whose it is. */
  interface ClassGameRun {
    number: number;
    run: string;
    reward: string;
    state: string;
    paid: string;
    rose: boolean;
    wanted: string;
    trend: string;
    prompt: string;
    sample: string;
  }

  /** What came of the rewards: the number of the `best` hack, if any; `going`: some had not ended then. */
  interface ClassGameResults {
    runs: ClassGameRun[];
    best: number | null;
    going: boolean;
  }

  /** The game: what a reward is to make the model do, and once it is shown what came of those of the class. `mine`: the number of this person's, once they are trained. `words`: how far that is, on the screen. `judged`: what was counted as wanted, once it is shown. `most`: characters of a reward. */
  interface ClassGame {
    ask: string;
    example: string;
    functions: Function[];
    most: number;
    started: boolean;
    judged: string;
    mine: number | null;
    words: string;
    results: ClassGameResults | null;
  }

  /** A reward that was handed in, by how many people, and whether the host leaves it out. */
  interface ClassGameEntry {
    reward: string;
    people: number;
    left_out: boolean;
  }

  /** The game on the desk. `sweep`: of its runs, "" before they are started and once they are deleted; `fresh`: whether there is more than what is shown; `takes`: how long it will take to train those that are not left out, before they are started; `ended`: how many of the results have figures. */
  interface ClassGameDesk {
    entries: ClassGameEntry[];
    sweep: string;
    fresh: boolean;
    takes: string;
    words: string;
    ended: number;
    results: ClassGameResults;
  }

  /** What the class is asked now. `mine`: this person's answers, by item. */
  interface ClassStep {
    id: number;
    kind: "question" | "vote" | "game";
    state: "open" | "closed" | "shown";
    round: number;
    mine: Record<string, unknown>;
    question: ClassQuestion | null;
    results: ClassResults | null;
    vote: ClassVote | null;
    game: ClassGame | null;
  }

  /** What a person of the class sees. Where nothing has changed since the version that they know, it has the version and `joined` only. `is_open`: whether there is a room; `free`: whether they may look around on the page; `lesson`: the one that the class is at, of which their page says how far they are; `number`: by which the desk knows them. */
  interface ClassState {
    version: number;
    is_open: boolean;
    joined: boolean;
    free?: boolean;
    location?: ClassLocation | null;
    step?: ClassStep | null;
    lesson?: string;
    number?: number;
  }

  /** A step of this class, for the desk's list. */
  interface ClassStepRow {
    id: number;
    kind: "question" | "vote" | "game";
    state: "open" | "closed" | "shown";
    title: string;
    answered: number;
  }

  /** A run of the lesson that is asked about, started or played at the desk. `index`: which of its runs; `ended`: by itself or stopped, so that it has something to say; `title`: what it is called in front; `words`: while it is going, what it waits for or how far it is. */
  interface ClassRun {
    run: string;
    index: number;
    state: string;
    ended: boolean;
    going: boolean;
    title: string;
    words: string;
  }

  /** A person who is in the lesson that the class is at, or asks for help. `tries`: at its task, in vain; `minutes`: at this step; `stuck`: why they may be. */
  interface ClassPlace {
    number: number;
    step: string;
    tries: number;
    minutes: number;
    stuck: "help" | "tries" | "long" | "";
  }

  /** What the host's desk and the screen show. `answered`: people in this round; `qr`: rows of dark (1) and light (0) squares; `address`: what it leads to; `front`: the run that the screen shows in the place of the step; `over`: the class was ended, and can go on; `damaged`: what is said of a damaged file. For the desk only: `live`, what they have answered so far; `going`, runs of other lessons that go on; `shown_run`, whose end is shown with the answers. */
  interface ClassDesk {
    version: number;
    code: string;
    address: string;
    addresses: string[];
    qr: string[];
    present: number;
    joined: number;
    answered: number;
    free: boolean;
    location: ClassLocation | null;
    step: ClassStep | null;
    front: string;
    damaged: string;
    over: boolean;
    live: ClassResults | null;
    steps: ClassStepRow[];
    runs: ClassRun[];
    going: ClassRun[];
    places: ClassPlace[];
    shown_run: string;
    game: ClassGameDesk | null;
    votes: ClassVoteDesk | null;
  }

  /** Whether what was sent or asked for is done, or a sentence; `run`: of a run that was started; `made`: a name. */
  interface ClassLed {
    error: string;
    sentence?: string;
    run?: string;
    made?: string;
  }

  /** One behaviour over the evaluations of a run, or between two of them: the updates, the count at each, and +1 or -1 where it differs from the first by more than chance, else 0. `band`: what other seeds of its preset came to, and how it is `compared` with that, where it is. */
  interface Meter {
    name: string;
    words: string;
    aim: "more" | "less" | "neither";
    updates: number[];
    counts: Count[];
    changes: number[];
    band: [number, number] | null;
    compared: string;
  }

  /** One way to put a claim, and what is answered where it is wrong and where it is right, as far as it was asked. */
  interface Way {
    words: string;
    wrong: Meter | null;
    right: Meter | null;
  }

  /** A behaviour that became worse while the score rose, and the pair that shows it best, if any does. */
  interface Paid {
    name: string;
    sentence: string;
    pair: PaidPair | null;
  }

  /** One text as the reward reads it: the answer that was found in it and the true one; None where there is none. */
  interface Reading {
    answer: string | null;
    true: string | null;
    is_right: boolean;
  }

  /** One reward or judge before and after: raw means of the texts on which there is an opinion, and the paired change; None where there is none. `unit` of the change is sd, or points where the values did not vary before. */
  interface RewardRow {
    name: string;
    role: string;
    before: number | null;
    after: number | null;
    change: Interval | null;
    unit: string;
  }

  /** What a method cost before the first answer, without evaluations and loading: texts and tokens written to learn from, tokens trained on in all epochs; and after it, `answers`: texts written for each answer given. */
  interface Bill {
    texts: number;
    tokens: number;
    tokens_trained: number;
    seconds: number;
    operations: number | null;
    memory_gb: number | null;
    answers: number;
  }

  /** The one gain and KL by which a run is known wherever it is shown: of its fixed prompts, from before training to the newest evaluation; of a run that has none with a score, of its training batches, whose bounds are not known. */
  interface Headline {
    source: "fixed prompts" | "training batch";
    update: number;
    gain: number;
    low: number | null;
    high: number | null;
    kl: number | null;
  }

  /** The fixed prompts at one moment, or between two: KL, mean score with half of its 95 % interval over prompts, and what the score was above that of before training on the prompts with a score at every evaluation. */
  interface PathPoint {
    update: number;
    kl: number;
    score: number;
    half: number | null;
    gain: number | null;
    gain_half: number | null;
  }

  /** One completion. `score` is normalised as in the run; `kl` is its exact KL to the reference, in nats. */
  interface GeneratedSample {
    side: "reference" | "policy";
    index: number;
    completion: string;
    score: number | null;
    scores: Record<string, number | null>;
    kl: number;
    tokens: number;
    ended: boolean;
  }

  /** What a preset is for, in words. It travels with the run, so a run can be read years later. */
  interface About {
    title: string;
    story: string;
    expect: string;
  }

  /** What a run needs: `total_gb` of all its processes on `device` (`measured`: by a trial), seconds from the likely least to the likely most, and what would help, as a sentence and as a configuration (`better`), where it does not fit. The page, `train --estimate --json` and the API have it as it is. */
  interface Estimate {
    places: string[];
    measured: boolean;
    verdict: "fits" | "tight" | "does not fit";
    advice: string;
    better: Record<string, unknown> | null;
    seconds_per_update: [number, number] | null;
    seconds: [number, number] | null;
    as_last_runs: boolean;
    prompt_tokens: number;
    completion_tokens: number;
    device: DeviceNeeds;
    roles: RoleNeeds[];
    libraries_gb: number;
    total_gb: number;
    fullest_moment: string;
    larger: LargerNeeds;
    download: Download | null;
  }

  /** What can be called, as a person writes it. */
  interface Function {
    written: string;
    help: string;
  }

  /** How many scores lie in each of the bins from `low` to `high`, which are equally wide; one bin where all texts have the same score. */
  interface Histogram {
    low: number;
    high: number;
    counts: number[];
  }

  /** One completion, which may be cut short. `kl`: exact, of policy to reference, summed, in nats. */
  interface RolloutText {
    prompt: string;
    completion: string;
    score: number;
    kl: number | null;
    chosen: "best" | "worst" | "random";
    bin: number;
  }

  /** One completion under the microscope. The lists have an entry for each token, the end token included. `pieces`: texts, a part of a character as `\xe2`. `kl`: exact, of what the token was drawn from to the whole reference, in nats. `leash`: -beta times the KL by the run's estimator; `rewards`: that, with the score on the last token; `advantages`: before whitening. `choices`: the drawn token, then the likeliest of reference and policy. */
  interface TokenFigures {
    attempt: number;
    update: number;
    stage: "before" | "during" | "after";
    prompt_id: number;
    seed: number;
    pieces: string[];
    log_probs: (number | null)[];
    reference_log_probs: (number | null)[];
    kl: (number | null)[];
    entropies: (number | null)[];
    values: (number | null)[] | null;
    leash: (number | null)[] | null;
    rewards: (number | null)[] | null;
    advantages: (number | null)[] | null;
    kl_coef: number | null;
    choices: (([string, number | null, number | null])[])[];
  }

  /** One episode in one optimizer step, `steps[step]`; before the step moved the policy. `ratios`: those that are clipped. `loss_kls`: the KL of each token now, where the leash is in the loss. */
  interface TracedPass {
    step: number;
    ratios: number[];
    clipped: boolean[];
    policy_losses: number[];
    loss_kls: number[];
    values: number[];
    value_losses: number[];
  }

  /** One episode: `row` of the batch. Without a critic `deltas` and `values` are empty, and `returns` what the whole episode was paid. `rewards` are the tokens' own; `leash` is the part of it that the KL costs. */
  interface TracedEpisode {
    row: number;
    why: string;
    prompt: string;
    prompt_pieces: string[];
    pieces: string[];
    ended: boolean;
    score: number;
    raw_score: number | null;
    log_probs: number[];
    reference_log_probs: number[];
    entropies: number[];
    token_kl: number[];
    leash: number[];
    rewards: number[];
    values: number[];
    deltas: number[];
    advantages: number[];
    whitened: number[];
    returns: number[];
    passes: TracedPass[];
  }

  /** One optimizer step: `tokens` of its minibatch, so many of them `clipped`; means over them, as in the metrics. `rows`, `log_ratios` (log pi - log pi_old): of an epoch's last minibatch. `after`: measured after the step. */
  interface TracedStep {
    epoch: number;
    minibatch: number;
    tokens: number;
    clipped: number;
    clip_fraction: number;
    ratio_mean: number;
    ratio_max: number;
    update_kl: number;
    policy_loss: number;
    value_loss: number;
    grad_norm: number;
    value_grad_norm: number | null;
    after: boolean;
    rows: number[];
    log_ratios: number[];
  }

  /** What held in this update. */
  interface TracedSettings {
    baseline: "value" | "leave_one_out" | "group" | "none";
    advantage_scale: "batch" | "group" | "none";
    loss_mean: "token" | "text" | "constant";
    ratio: "token" | "text";
    where: "reward" | "loss";
    drop_alike_groups: boolean;
    overlong: "keep" | "mask" | "penalise";
    max_new_tokens: number;
    samples_per_prompt: number;
    gamma: number;
    gae_lambda: number;
    kl_coef: number;
    estimator: string;
    clip_range: number;
    clip_range_high: number | null;
    value_clip_range: number | null;
    value_coef: number;
    entropy_coef: number;
    max_grad_norm: number;
    learning_rate: number;
    num_epochs: number;
    batch_size: number;
    minibatch_size: number;
  }

  /** A text of a prompt whose texts are shown under each formula. `alike`: they all score the same. */
  interface TracedText {
    row: number;
    prompt: string;
    pieces: string[];
    ended: boolean;
    alike: boolean;
  }

  /** The texts under the formula of a method. `is_own`: it is that of the run itself. `why_none`: why there is none. `loss`: mean over the minibatches of the last steps, without the leash in it, which is `leash_loss`. `clipped`, `tokens`: of those that it learns from. */
  interface TracedFormula {
    name: string;
    is_own: boolean;
    why_none: string;
    settings: TracedSettings;
    loss: number | null;
    leash_loss: number | null;
    clipped: number;
    tokens: number;
    texts: FormulaText[];
  }

  /** What one check says of a run: its rule, the updates at which it was seen, the values in words, the likely cause and what to try; `series` is the figure in whose chart the updates can be marked, `plain` what has happened, for who knows none of these words. */
  interface Alert {
    name: string;
    label: string;
    state: "quiet" | "amber" | "red" | "not measured";
    rule: string;
    updates: number[];
    evidence: string;
    cause: string;
    remedies: Remedy[];
    series: string;
    plain: string;
  }

  /** A question with one right answer. */
  interface Question {
    ask: string;
    options: QuestionOption[];
    hints: string[];
  }

  /** What the course's chapter says, and what is so. */
  interface ChapterClaim {
    says: string;
    right: boolean;
    so: string;
  }

  /** What a run says of a lesson; nothing before it has ended (`ready`). `said`: the sentences that hold of it; `explained`: why, and `card`, what is worked out with its numbers, after the last run only; `reached`: whether the task to break it was; `outside`: where it ended elsewhere than runs of its preset do on other seeds; `memory`: of each role, where the lesson looks at it. */
  interface Reveal {
    held: number | null;
    beliefs: string[];
    value: number | null;
    words: string;
    shape: string;
    curve: [number, number][];
    ready: boolean;
    said: string[];
    explained: string[];
    card: WorkedCard | null;
    reached: boolean | null;
    outside: string[];
    memory: RoleMemory[];
  }

  /** A run in a list: its names, what it is, and what came of it. `curve`: scores of its training batches; `passes`: pass@k, where its answers are checked; `figures`: of `FIGURES`, by key. */
  interface RunRow {
    id: string;
    title: string;
    note: string;
    experiment: string;
    wrong_on_purpose: string;
    method: string;
    engine: string;
    seed: number | null;
    unit: string;
    curve: number[];
    behaviours: MeterEnds[];
    passes: PassAt[];
    figures: Record<string, FigureValue>;
  }

  /** What a run has of a figure. `low` and `high` bound it (95 %), where that is known; `note` is its unit, or what else is said below it. */
  interface FigureValue {
    value: number | string | null;
    low: number | null;
    high: number | null;
    note: string;
  }

  /** A mean over some independent `units`, and half of its 95 % interval: None where that is not known, which is with one unit, and where all are alike: that they are so by chance is likelier than that nothing is unsure. */
  interface Interval {
    mean: number;
    half: number | null;
    units: number;
  }

  /** One thing to pick: the name that goes into the configuration, a label to read, one line of help. */
  interface Choice {
    name: string;
    label: string;
    help: string;
    size: string;
    licence: string;
    knows: string;
  }

  /** How many of some completions, and of how many prompts these are; `low` and `high` bound the share with 95 % confidence. */
  interface Count {
    yes: number;
    of: number;
    prompts: number;
    low: number;
    high: number;
  }

  /** One prompt, answered before and after. */
  interface PaidPair {
    prompt: string;
    before: ScoredText;
    after: ScoredText;
  }

  /** Where it would run: of several devices the one with the least room. */
  interface DeviceNeeds {
    name: string;
    label: string;
    total_gb: number;
    free_gb: number;
  }

  /** Memory of one role of one process, by kind. */
  interface RoleNeeds {
    role: string;
    total_gb: number;
    kinds_gb: Record<string, number>;
  }

  /** The same settings with seven billion weights. */
  interface LargerNeeds {
    parameters: number;
    total_gb: number;
    fullest_moment: string;
    roles_gb: Record<string, number>;
  }

  /** A model that a run would fetch first. */
  interface Download {
    source: string;
    mb: number;
    licence: string;
    gated: boolean;
  }

  /** One of these texts under a formula. `advantages`, `ratios`, `clipped`: of each token. `weight`: what a token counts in the loss. `pushes`: minus the gradient of the loss by a token's log-prob, the leash in it included, which alone is `leash`. `left_out`: the formula does not learn from it. */
  interface FormulaText {
    advantages: number[];
    ratios: number[];
    clipped: boolean[];
    weight: number;
    pushes: number[];
    leash: number[];
    left_out: boolean;
  }

  /** What to try: in words, and as settings; `live` where a run that trains takes it without a restart. */
  interface Remedy {
    words: string;
    changes: Record<string, unknown>;
    live: boolean;
  }

  /** An answer that can be chosen. */
  interface QuestionOption {
    say: string;
    right: boolean;
    why: string;
  }

  /** A card with a run's figures. */
  interface WorkedCard {
    title: string;
    steps: WorkedStep[];
  }

  /** A part of the machine: what it is called, its share of the memory, and how much that is. */
  interface RoleMemory {
    name: string;
    share: number;
    words: string;
  }

  /** One behaviour before training and at the newest evaluation, as programs read it; `change` as in `Meter`. */
  interface MeterEnds {
    name: string;
    words: string;
    before: EndCount;
    after: EndCount;
    change: number;
  }

  /** pass@k before and now; `low` and `high` bound the `change`, prompt by prompt, where it is known. */
  interface PassAt {
    k: number;
    before: Share;
    now: Share;
    change: number;
    low: number | null;
    high: number | null;
  }

  /** A completion with its score. */
  interface ScoredText {
    text: string;
    score: number | null;
  }

  /** A step with a run's figures, and its formulas, if there are any. */
  interface WorkedStep {
    say: string;
    math: Formula | null;
    numbers: Formula | null;
  }

  /** So many of so many answers, and the bounds of the share, as programs read it. */
  interface EndCount {
    count: number;
    of: number;
    low: number;
    high: number;
  }

  /** A share of prompts and its 95 % interval over prompts (Student's t); without one where all are alike. */
  interface Share {
    mean: number;
    low: number | null;
    high: number | null;
  }

  /** An element of MathML: its name without the namespace, attributes, and what is in it. */
  interface Formula {
    name: string;
    attributes: Record<string, string>;
    parts: (Formula | string)[];
  }

  interface Columns {
    /** -: the update, from 1 */
    update: number[];
    /** -: completions so far, across attempts */
    episodes?: (number | null)[];
    /** s: of training so far, evaluations included, pauses left out */
    seconds?: (number | null)[];
    /** s: of this update: sampling with the reference's log-probs */
    seconds_rollout?: (number | null)[];
    /** s: of this update: scoring */
    seconds_score?: (number | null)[];
    /** s: of this update: optimising */
    seconds_update?: (number | null)[];
    /** s: since the update before: evaluating */
    seconds_evaluation?: (number | null)[];
    /** sd: mean of the scores */
    score_mean?: (number | null)[];
    /** sd: their 10th percentile */
    score_p10?: (number | null)[];
    /** sd: their median */
    score_p50?: (number | null)[];
    /** sd: their 90th percentile */
    score_p90?: (number | null)[];
    /** reward: weighted sum of the rewards, before scaling */
    raw_score_mean?: (number | null)[];
    /** sd: spread of an ensemble's learned rewards on a text, mean over texts */
    disagreement?: (number | null)[];
    /** nats per completion: log-ratio of policy to reference */
    kl_to_reference?: (number | null)[];
    /** nats per token: the same, as a mean over tokens */
    kl_per_token?: (number | null)[];
    /** nats per completion: to the reference that stays, where the other one moves */
    kl_to_first?: (number | null)[];
    /** sd: `score_mean - kl_coef * kl_to_reference` */
    penalised_reward?: (number | null)[];
    /** sd per nat: beta, as used in this update */
    kl_coef?: (number | null)[];
    /** nats per token: of the policy's full distribution */
    entropy?: (number | null)[];
    /** nats per token: from the policy that sampled */
    update_kl?: (number | null)[];
    /** 0 to 1: share of clipped tokens in the loss */
    clip_fraction?: (number | null)[];
    /** -: mean over tokens and optimizer steps */
    policy_loss?: (number | null)[];
    /** -: mean over tokens and optimizer steps */
    value_loss?: (number | null)[];
    /** at most 1: of the returns by the value head */
    explained_variance?: (number | null)[];
    /** -: of the policy, before clipping, mean of steps */
    grad_norm?: (number | null)[];
    /** 0 to 1: share of prompts whose texts all score the same */
    groups_same_score?: (number | null)[];
    /** 0 to 1: share of prompts whose answers are all right, where they are checked */
    groups_all_right?: (number | null)[];
    /** 0 to 1: share of prompts that have no right one */
    groups_all_wrong?: (number | null)[];
    /** 0 to 1: share of right answers, where they are checked */
    answers_right?: (number | null)[];
    /** 0 to 1: share of answers in the form asked for */
    answers_in_form?: (number | null)[];
    /** 0 to 1: share of texts not learned from, where settings leave some out */
    left_out?: (number | null)[];
    /** -: steer: of the vector, as used in this update */
    steering_strength?: (number | null)[];
    /** -: of this update */
    learning_rate?: (number | null)[];
    /** tokens: the end token counts */
    completion_length?: (number | null)[];
    /** 0 to 1: share of completions that ended by themselves */
    eos_fraction?: (number | null)[];
    /** 0 to 1: distinct word pairs over all word pairs */
    distinct_2?: (number | null)[];
    /** -: of the completions under the reference */
    perplexity_reference?: (number | null)[];
    [other: string]: (number | null)[];
  }
}
