import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, expect, it } from "vitest";
import { envelopeOf, fixtureServer, usePtc } from "./ptc-process.ts";

const MAIL = "ada.lovelace@example.com";
const CARD = "4111 1111 1111 1111";

/** Programs that see what they were given, and hand it on in every way out of the sandbox. */
const PROGRAMS = {
  "a.ts": `import * as desk from "./servers/desk/index.js";
const text = await desk.echo({ text: "${MAIL} pays with ${CARD}" });
console.log("out", text);
console.error("err", text);
result = { text, at: text.indexOf("@"), length: text.length };`,
  "b.py": `import sys
from servers.desk import echo
text = echo(text="${MAIL} pays with ${CARD}")
print("out", text)
print("err", text, file=sys.stderr)
result = {"text": text, "at": text.index("@"), "length": len(text)}`,
  "c.ts": `const text: string = await mcp__desk__echo({ text: "${MAIL}" });
throw new Error("no such person: " + text);`,
};

it("personal data that a program has seen is in nothing that leaves its run, in either language", async () => {
  const text = `${MAIL} pays with ${CARD}`;
  const project = newProject({
    "ptc.yaml": {
      languages: ["typescript", "python"],
      servers: [fixtureServer("desk", "echo-v1.mjs")],
      pii: ["email", "card"],
    },
    ...PROGRAMS,
  });
  await project.generate();
  for (const file of ["a.ts", "b.py"]) {
    const ran = await project.ptc(["run", file]);
    const { run_id, result } = envelopeOf(ran);
    expect({ file, result }).toMatchObject({
      result: {
        ok: true,
        data: {
          text: "[REDACTED:email] pays with [REDACTED:card]",
          at: text.indexOf("@"),
          length: text.length,
        },
      },
    });
    expect(ran.stderr).toContain("out [REDACTED:email] pays with [REDACTED:card]");
    expect(ran.stderr).toContain("err [REDACTED:email] pays with [REDACTED:card]");
    const shown = await project.ptc(["runs", "show", run_id, "--json"]);
    for (const each of [ran.stdout, ran.stderr, shown.stdout]) {
      expect(each).not.toContain(MAIL);
      expect(each).not.toContain(CARD);
    }
  }
  const failed = await project.ptc(["run", "c.ts"]);
  expect(envelopeOf(failed).result).toMatchObject({
    ok: false,
    error: { message: expect.stringContaining("no such person: [REDACTED:email]") },
  });
  expect(failed.stdout + failed.stderr).not.toContain(MAIL);
  expect(project.read(".ptc/audit.jsonl")).not.toContain(MAIL);
});

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
