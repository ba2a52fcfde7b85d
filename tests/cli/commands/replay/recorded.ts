import { fixtureServer, type Project } from "../../ptc-process.ts";

export const SECRET = "correct-horse-battery-staple";

export const SERVERS = [
  fixtureServer("my-documents", "documents.mjs"),
  fixtureServer("slow", "slow-tool.mjs"),
  { ...fixtureServer("env", "env-dump.mjs"), env: { API_KEY: SECRET } },
];

/** Sees calls that race, time and randomness. */
export const DICE = `
const documents = await Promise.all(
  ["c", "a", "b"].map(async (documentId) => (await mcp__my_documents__get_document({ documentId })).title),
);
const started = Date.now();
await new Promise((resolve) => setTimeout(resolve, 20));
console.log(Math.random(), crypto.randomUUID(), new Date().toISOString());
result = { documents, took: Date.now() - started, dice: Math.random() };
`;

/** Generates the modules of a folder and runs a program in it. */
export async function recorded(made: Project, code: string) {
  await made.generate();
  const { envelope } = await made.run(code);
  return envelope;
}

/** What a replay says, from the line on stdout. */
export async function replay(made: Project, args: string[]) {
  const exited = await made.ptc(["replay", ...args]);
  return { ...exited, envelope: exited.stdout === "" ? undefined : JSON.parse(exited.stdout) };
}
