import assert from "node:assert/strict";
import { RunnerOutput } from "../../../execution/output/runner-output.ts";
import { ConsoleDecoder, type ConsoleEntry } from "../../../protocol/console-stream.ts";
import { Redactor } from "../../../secrets/redaction.ts";
import { fuzzTarget } from "../fuzz-target.ts";
import { hostileConsole } from "../hostile/hostile-console.ts";

const SECRETS = ["s3cr3t-Token-value", "an0ther/Secret+value="];
const LIMITS = { maxOutputBytes: 2_048, maxStderrBytes: 1_024 };
const MARK_BYTES = Buffer.byteLength("\n... (truncated)\n");
/** A record that is longer is cut where a piece ends. */
const MAX_RECORD_BYTES = 1_000_000;

/** Console records of a container, in pieces of any size: bounded, without secrets, and the same however they are cut. */
export const target = fuzzTarget({
  name: "console",
  iterations: 270,
  generate: (random) => hostileConsole(random, SECRETS),
  check(input, random) {
    const chunks = random.chunks(input);
    const whole = decode([input]);
    const inPieces = decode(chunks);
    assert.deepEqual(ofStream(inPieces, "out"), ofStream(whole, "out"));
    // Bytes that are no record are shown as they come, and a character may come in two pieces.
    assert.equal(withoutHalves(ofStream(inPieces, "err")), withoutHalves(ofStream(whole, "err")));
    const shown: Record<ConsoleEntry["stream"], string> = { out: "", err: "" };
    const output = new RunnerOutput(
      LIMITS,
      1_000,
      ({ stream, text }) => {
        shown[stream] += text;
      },
      new Redactor(SECRETS),
    );
    for (const chunk of chunks) output.onStderr(chunk);
    output.end();
    assert.ok(
      Buffer.byteLength(shown.out) <= LIMITS.maxOutputBytes + MARK_BYTES,
      "too much is shown of console.log",
    );
    assert.ok(
      Buffer.byteLength(shown.err) <= LIMITS.maxStderrBytes + MARK_BYTES,
      "too much is shown of stderr",
    );
    assert.equal(output.consoleText, shown.out);
    assert.ok(output.stderrTail.length <= 8_192);
    for (const secret of SECRETS) {
      assert.ok(!shown.out.includes(secret) && !shown.err.includes(secret), "a secret is shown");
    }
  },
});

function decode(chunks: readonly Buffer[]): ConsoleEntry[] {
  const decoder = new ConsoleDecoder(MAX_RECORD_BYTES);
  return [...chunks.flatMap((chunk) => decoder.push(chunk)), ...decoder.end()];
}

function ofStream(entries: readonly ConsoleEntry[], wanted: ConsoleEntry["stream"]): string {
  return entries.map(({ stream, text }) => (stream === wanted ? text : "")).join("");
}

function withoutHalves(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all but ASCII
  return text.replaceAll(/[^\x00-\x7f]/g, "");
}
