import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, expect, it } from "vitest";
import { envelopeOf, usePtc } from "./ptc-process.ts";

const newProject = usePtc();

/** A model that says how long a text is, and is wrong about the type at first. */
let asked = 0;
const model = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    asked++;
    const { messages } = JSON.parse(Buffer.concat(chunks).toString()) as { messages: { content: string }[] };
    const length = messages[1]?.content.length ?? 0;
    const value = messages.length === 2 ? { length: String(length) } : { length };
    const message = { content: JSON.stringify({ value }) };
    response.end(JSON.stringify({ choices: [{ message, finish_reason: "stop" }] }));
  });
});
afterAll(() => {
  model.closeAllConnections();
  model.close();
});

const IN_TYPESCRIPT = `import * as local from "./servers/local/index.js";
const shape = { length: "integer" } as const;
const { length } = await extract("abc", shape);
const words: string = await local.wordCount({ text: "a b" });
result = { length: length + 0, words };`;

const IN_PYTHON = `from dataclasses import dataclass
from servers.local import word_count

@dataclass
class Length:
    length: int

found = extract("abc", Length)
{"length": found.length, "words": word_count(text="a b")}`;

/** By file, a program that calls the saved one of its language. */
const CALLERS = {
  "a.ts": 'import { measureA } from "./programs/index.js";\nresult = await measureA({});',
  "b.py": "from programs import measure_b\nmeasure_b()",
};

it("a program in either language, saved or not, asks a model and runs a command through the broker, and a replay asks neither", async () => {
  await new Promise<void>((resolve) => model.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(model.address() as AddressInfo).port}`;
  const wordCount = {
    name: "word_count",
    command: ["wc", "-w"],
    stdin: "{text}",
    inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  };
  const project = newProject({
    "ptc.yaml": {
      languages: ["typescript", "python"],
      extract: { url, model: "small" },
      tools: { local: [wordCount] },
    },
    "a.ts": IN_TYPESCRIPT,
    "b.py": IN_PYTHON,
    ...Object.fromEntries(Object.entries(CALLERS).map(([file, text]) => [`calling-${file}`, text])),
  });
  expect(await project.ptc(["generate"])).toMatchObject({ code: 0 });
  const runAndReplay = async (file: string) => {
    const before = asked;
    const envelope = envelopeOf(await project.ptc(["run", file]));
    expect(envelope.result).toMatchObject({ ok: true, data: { length: 18, words: "2" } });
    expect(asked - before).toBe(2);
    const replayed = await project.ptc(["replay", envelope.run_id]);
    expect(replayed.stderr).toContain("ptc: same: ");
    expect(asked - before).toBe(2);
    return envelope.run_id;
  };
  for (const file of Object.keys(CALLERS)) {
    const run = await runAndReplay(file);
    expect(await project.ptc(["save", run, "--name", `measure-${file[0]}`])).toMatchObject({ code: 0 });
    await runAndReplay(`calling-${file}`);
  }
});
