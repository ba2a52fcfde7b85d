import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, onTestFinished, test } from "vitest";
import { useHosts } from "../cli/background/hosted-project.ts";
import { envelopeOf, fixtureServer } from "../cli/ptc-process.ts";
import { describeSandboxed } from "../sandbox/in-sandbox.ts";
import { type OtlpReceiver, startOtlpReceiver } from "./otlp-receiver.ts";

const hosted = useHosts();

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const TRACEPARENT = `00-${TRACE}-00f067aa0ba902b7-01`;
/** Must be nowhere in what is sent. */
const SECRET = "canary-9f1c";
const PROGRAM = `const shown = await mcp__meta__show({ secret: "${SECRET}" });
await mcp__meta__wipe({ secret: "${SECRET}" });
await mcp__meta__fail.result({ secret: "${SECRET}" });
await callTool("mcp__meta__${SECRET}", {}).catch(() => {});
console.log("${SECRET}");
globalThis.result = shown.meta.traceparent;`;

/** Each span with the name of its parent, in an order of their own. */
function tree({ spans }: OtlpReceiver): string[] {
  const nameOf = (id: string) => spans.find(({ spanId }) => spanId === id)?.name ?? id;
  return spans.map(({ name, parentSpanId }) => `${nameOf(parentSpanId)} > ${name}`).sort();
}

describeSandboxed("a program that is reported", () => {
  test("is in the trace of the client's request, with its calls, its question and its servers", async () => {
    const receiver = await startOtlpReceiver();
    onTestFinished(() => receiver.close());
    const { project } = hosted({ "ptc.yaml": { servers: [fixtureServer("meta", "shows-meta.mjs")] } });
    await project.generate();
    const client = new Client({ name: "test", version: "1" }, { capabilities: { elicitation: {} } });
    client.setRequestHandler(ElicitRequestSchema, () => ({
      action: "accept",
      content: { decision: "once" },
    }));
    const { stderr } = await project.serve({
      client,
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint,
        // What is sent at the end may be lost on a busy machine.
        OTEL_METRIC_EXPORT_INTERVAL: "2000",
        OTEL_METRIC_EXPORT_TIMEOUT: "2000",
      },
    });
    const reply = await client.callTool({
      name: "execute_program",
      arguments: { code: PROGRAM },
      _meta: { traceparent: TRACEPARENT },
    });
    await client.callTool({ name: "search_tools", arguments: { query: SECRET } });
    const text = (reply.content as { text: string }[])[0]?.text ?? "";
    await expect.poll(() => receiver.points.length).toBeGreaterThan(0);
    await client.close();
    // On a busy machine this process is late to receive.
    expect(stderr().replaceAll(/^.*\(no answer in time\).*\n/gm, "")).toBe("");

    expect(tree(receiver)).toEqual(
      [
        "00f067aa0ba902b7 > tools/call execute_program",
        "tools/call execute_program > queue",
        "tools/call execute_program > run",
        "run > sandbox wait",
        "run > bundle",
        "run > type check",
        "run > program",
        "program > tools/call show",
        "program > tools/call wipe",
        "tools/call wipe > approval",
        "program > tools/call fail",
        "program > tools/call unknown",
        " > tools/call search_tools",
      ].sort(),
    );
    const of = (name: string) => receiver.spans.find((span) => span.name === name);
    expect(text).toContain(`00-${TRACE}-${of("tools/call show")?.spanId}-01`);
    expect((reply._meta as Record<string, { trace_id: string }>)["ptc/envelope"]?.trace_id).toBe(TRACE);
    expect(of("approval")?.attributes).toMatchObject({ "ptc.decision": "once" });
    expect(of("run")?.attributes).toMatchObject({ "ptc.approval_state": "APPROVED", "ptc.calls": 4 });
    expect(of("tools/call fail")?.attributes).toMatchObject({ "error.type": "tool_error" });
    for (const { body } of receiver.requests) expect(body.includes(SECRET)).toBe(false);
  });

  test("is reported by the background host, each in the trace of its command, and nothing is lost when that ends", async () => {
    const receiver = await startOtlpReceiver();
    onTestFinished(() => receiver.close());
    const project = hosted({ "ptc.yaml": { servers: [] }, "program.ts": "globalThis.result = 1;" });
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint, OTEL_BSP_SCHEDULE_DELAY: "600000" };
    await project.ptc(["run", "program.ts"], { env });
    await project.inService();
    const alone = receiver.spans.length;
    expect(tree(receiver)).toContain(" > run");
    const run = await project.ptc(["run", "program.ts"], { env: { ...env, TRACEPARENT } });
    expect(run).toMatchObject({ code: 0, stderr: "" });
    expect(envelopeOf(run).trace_id).toBe(TRACE);
    expect(receiver.spans).toHaveLength(alone);
    await project.ptc(["host", "stop"], { env });
    await expect.poll(() => tree(receiver)).toContain("00f067aa0ba902b7 > run");
  });
});
