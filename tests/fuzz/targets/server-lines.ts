import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LineSplitter, LineSplitterError } from "../../../base/streams.ts";
import { canonicalJson } from "../../../protocol/canonical-json.ts";
import { type Answer, type JsonRpcMessage, MessageGate } from "../../../upstream/mcp/message-gate.ts";
import { StdioClientTransport } from "../../../upstream/mcp/stdio-transport.ts";
import { fuzzTarget } from "../fuzz-target.ts";
import { hostileServerLines } from "../hostile/hostile-server-lines.ts";

const MAX_BYTES = 4_096;
let folder = "";

/** What a server on stdio writes, from the bytes to the messages. */
export const target = fuzzTarget({
  name: "server-lines",
  iterations: 50,
  generate: (random) => hostileServerLines(random, random.size(12)),
  async open() {
    folder = mkdtempSync(join(tmpdir(), "ptc-fuzz-"));
    return () => rmSync(folder, { recursive: true });
  },
  async check(input, random) {
    assert.deepEqual(split(random.chunks(input)), split([input]), "lines depend on the pieces");
    // A process for each input is slow, and what is in the lines matters more than how they come.
    const file = join(folder, "said");
    writeFileSync(file, input);
    const gate = new MessageGate();
    const answers: Answer[] = [];
    const settle = (answer: Answer) => void answers.push(answer);
    gate.expect(1, { method: "tools/call", settle });
    gate.expect(2, { method: "tools/list", settle });
    gate.expect("3", { method: "initialize" });
    const transport = new StdioClientTransport({
      command: "cat",
      args: [file],
      env: {},
      cwd: "/",
      maxMessageBytes: MAX_BYTES,
      admit: (text) => gate.admit(text),
      onOversize: () => {},
    });
    const messages: JsonRpcMessage[] = [];
    transport.onmessage = (message) => void messages.push(message);
    const closed = new Promise<void>((resolve) => {
      transport.onclose = resolve;
    });
    await transport.start();
    await closed;
    await transport.close();
    const { firstGarbage, stderrTail } = transport.diagnosis;
    assert.ok((firstGarbage ?? "").length <= 200 && stderrTail.length <= 16_384);
    for (const message of messages) {
      assert.equal(message.jsonrpc, "2.0");
      canonicalJson(message);
    }
    for (const answer of answers) canonicalJson(answer);
    assert.ok(messages.length <= 3 && answers.length <= 2, "a request was answered twice");
  },
});

function split(chunks: readonly Buffer[]): unknown[] {
  const splitter = new LineSplitter(MAX_BYTES);
  const lines: unknown[] = [];
  try {
    for (const chunk of chunks) lines.push(...splitter.push(chunk));
  } catch (error) {
    if (!(error instanceof LineSplitterError)) throw error;
    // What came before it in one piece is lost with the stream.
    return ["lost"];
  }
  return lines;
}
