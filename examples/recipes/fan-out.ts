/** Fan-out: how long is each note? One call a file, five at a time, and only the sums come back. */
import * as files from "./servers/files/index.js";

const { content } = await files.searchFiles({ path: "notes", pattern: "*.md" });
const paths = content.split("\n").filter((path) => path !== "");

const notes = await parallel(
  paths.map((path) => () => files.readTextFile({ path })),
  { limit: 5 },
);
globalThis.result = notes
  .map(({ content }, i) => ({ note: paths[i]?.split("/").at(-1), words: content.split(/\s+/).length - 1 }))
  .sort((a, b) => b.words - a.words);
