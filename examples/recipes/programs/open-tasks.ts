import * as files from "./servers/files/index.js";

const { content } = await files.listDirectory({ path: data.folder });
const names = content.split("\n").flatMap((line) => /^\[FILE\] (.*\.md)$/.exec(line)?.[1] ?? []);
const notes = await parallel(
  names.sort().map((name) => () => files.readTextFile({ path: `${data.folder}/${name}` })),
);
const tasks = notes.flatMap(({ content }) =>
  [...content.matchAll(/TODO: ([^.]+)\./g)].map(([, task]) => task),
);
globalThis.result = { count: tasks.length, tasks };
