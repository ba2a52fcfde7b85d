/** How long are the pages in this folder? */
import * as files from "./servers/filesystem/index.js";

const { content } = await files.listDirectory({ path: "." });
const names = content.split("\n").flatMap((line) => /^\[FILE\] (.*\.md)$/.exec(line)?.[1] ?? []);

const pages = await parallel(
  names.map((path) => () => files.readTextFile({ path })),
  { limit: 5 },
);
globalThis.result = pages.map(({ content }, i) => ({ page: names[i], words: content.split(/\s+/).length }));
