import type { ServerListing } from "../../catalog/parse-tool.ts";
import { buildServerModel } from "../../catalog/tool-model.ts";
import { printServerModule } from "../../codegen/typescript/print-typescript.ts";

/** A listing as a server would give it. */
export function listingOf(tools: unknown[], name = "demo"): ServerListing {
  return { name, implementation: { name, version: "1.0.0" }, protocolVersion: "2025-11-25", tools };
}

/** The module of a server, and the warnings on the way to it. */
export async function generateModule(tools: unknown[], name = "demo", module = "demo") {
  const { server, warnings } = buildServerModel(listingOf(tools, name), module);
  const printed = await printServerModule(server);
  return { text: printed.text, server, warnings: [...warnings, ...printed.warnings] };
}

/** The declarations of one tool's input, as text. */
export async function generateInput(inputSchema: unknown): Promise<string> {
  const { text } = await generateModule([{ name: "t", inputSchema }]);
  const start = text.indexOf('runtime.js";') + 'runtime.js";'.length;
  return text.slice(start, text.lastIndexOf("/** @returns any")).trim();
}
