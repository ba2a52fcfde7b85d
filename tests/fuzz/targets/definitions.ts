import assert from "node:assert/strict";
import { transform } from "esbuild";
import { ForeignJsonError, parseForeignJson } from "../../../base/json.ts";
import { definitionDigest } from "../../../catalog/parse-tool.ts";
import { buildServerModel } from "../../../catalog/tool-model.ts";
import { printServerModule } from "../../../codegen/typescript/print-typescript.ts";
import { printCompactSignature, printToolSignature } from "../../../codegen/typescript/signature.ts";
import { MAX_TOOL_NAME_CHARS } from "../../../protocol/limits.ts";
import { namespacedName } from "../../../protocol/tool-names.ts";
import { parseModule } from "../../codegen/parse-module.ts";
import { fuzzTarget } from "../fuzz-target.ts";
import { hostileTools } from "../hostile/hostile-tools.ts";

const LIMITS = { maxBytes: 64 * 1024 * 1024, maxDepth: 1_000 };

/** Definitions of tools, printed: nothing but types and tools comes out, and every tool does. */
export const target = fuzzTarget({
  name: "definitions",
  iterations: 100,
  generate: hostileTools,
  async check(input) {
    let tools: unknown;
    try {
      tools = parseForeignJson(input, LIMITS);
    } catch (error) {
      if (error instanceof ForeignJsonError) return;
      throw error;
    }
    if (!Array.isArray(tools)) return;
    for (const tool of tools) assert.match(definitionDigest(tool), /^sha256:[0-9a-f]{64}$/);
    const implementation = { name: "s", version: "1" };
    const listing = {
      name: "demo",
      implementation,
      protocolVersion: "2025-11-25",
      tools: tools as unknown[],
    };
    const { server, warnings } = buildServerModel(listing, "demo");
    const named = tools.flatMap((tool: { name?: unknown } | null) =>
      typeof tool?.name === "string" && namespacedName("demo", tool.name).length <= MAX_TOOL_NAME_CHARS
        ? [tool.name]
        : [],
    );
    assert.deepEqual(
      new Set(server.tools.map(({ definition }) => definition.name)),
      new Set(named),
      "a tool is lost",
    );
    const module = await printServerModule(server);
    const exported = parseModule(module.text).flatMap((each) => (each.kind === "tool" ? [each] : []));
    assert.deepEqual(
      new Set(exported.map(({ calls }) => calls)),
      new Set(named.map((name) => `mcp__demo__${name}`)),
    );
    assert.equal(new Set(exported.map(({ name }) => name)).size, exported.length, "two tools have one name");
    await transform(module.text, { loader: "ts" });
    for (const { message } of [...warnings, ...module.warnings]) assert.ok(message.length < 2_000);
    for (const tool of server.tools) {
      const compact = await printCompactSignature(tool);
      assert.ok(compact.startsWith(`${tool.identifier}(`), "a signature begins with its name");
      assert.ok(
        (await printToolSignature(tool)).length <= 2 * input.length + 600_000,
        "a signature is bounded",
      );
    }
  },
});
