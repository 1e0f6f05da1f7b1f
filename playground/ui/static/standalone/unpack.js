// What was compressed into letters (playground/ui/standalone/parts.py) as text again.

/** @param {string} letters gzip as base64 @returns {Promise<string>} */
export async function unpack(letters) {
  const bytes = Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}
