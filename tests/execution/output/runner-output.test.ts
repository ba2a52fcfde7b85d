import { describe, expect, it } from "vitest";
import { RunnerOutput } from "../../../execution/output/runner-output.ts";
import { encodeConsoleEntry } from "../../../protocol/console-stream.ts";
import { TRUNCATION_MARK } from "../../../protocol/text-cap.ts";
import { Redactor } from "../../../secrets/redaction.ts";

/** What is known of an output after some console entries. */
function take(texts: string[], maxOutputBytes = 100): { consoleText: string; isConsoleCut: boolean } {
  const output = new RunnerOutput({ maxOutputBytes, maxStderrBytes: 100 }, 100, () => {});
  for (const text of texts) output.onStderr(encodeConsoleEntry({ stream: "out", text }));
  output.end();
  return { consoleText: output.consoleText, isConsoleCut: output.isConsoleCut };
}

describe("console text", () => {
  it.each([
    ["that is whole", ["a\n", "b\n"], "a\nb\n", false],
    ["that the runner has cut", ["a\n", `b\n${TRUNCATION_MARK}\n`], `a\nb\n${TRUNCATION_MARK}\n`, true],
    ["that names the mark and goes on", [`${TRUNCATION_MARK}\n`, "b\n"], `${TRUNCATION_MARK}\nb\n`, false],
    ["of nothing", [], "", false],
  ])("%s says so", (_what, texts, consoleText, isConsoleCut) => {
    expect(take(texts)).toEqual({ consoleText, isConsoleCut });
  });

  it("tells what the program logged from what the runtime wrote, and shows both", () => {
    let shown = "";
    const output = new RunnerOutput({ maxOutputBytes: 100, maxStderrBytes: 10 }, 100, ({ text }) => {
      shown += text;
    });
    output.onStderr(encodeConsoleEntry({ stream: "err", text: "logged\n" }));
    output.onStderr(Buffer.from("(node) noise\n"));
    output.onStderr(encodeConsoleEntry({ stream: "err", text: "more\n" }));
    output.end();
    expect(output.stderrText).toBe(`logged\nmor\n${TRUNCATION_MARK}\n`);
    expect(output.consoleText).toBe("");
    expect(shown).toBe(`logged\n(no\n${TRUNCATION_MARK}\n`);
  });

  it("ends with the run: a secret that comes in pieces afterwards is not shown", () => {
    let shown = "";
    const output = new RunnerOutput(
      { maxOutputBytes: 100, maxStderrBytes: 100 },
      100,
      ({ text }) => {
        shown += text;
      },
      new Redactor(["s3cret-of-a-server"]),
    );
    output.onStderr(Buffer.from("before s3cret"));
    output.flush();
    for (const piece of ["-of-a", "-server", " s3cret-of", "-a-server"]) output.onStderr(Buffer.from(piece));
    output.end();
    expect(shown).toBe("before s3cret");
  });

  it("that passes the host's own cap is cut", () => {
    expect(take(["abcdef\n"], 3)).toEqual({ consoleText: `abc\n${TRUNCATION_MARK}\n`, isConsoleCut: true });
  });
});
