import { expect, it } from "vitest";
import { envelopeOf, fixtureServer, usePtc } from "./ptc-process.ts";

const newProject = usePtc();

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
