import type { ServerListing } from "../../catalog/parse-tool.ts";
import { buildServerModel } from "../../catalog/tool-model.ts";
import { printCompactSignature, printToolSignature } from "../../codegen/typescript/signature.ts";
import type { Figure } from "../figure.ts";

/** What a model reads of every tool of some servers, by the count of a tokenizer. */
export async function measureTokens(
  listings: readonly ServerListing[],
  countTokens: (text: string) => number,
): Promise<Figure[]> {
  let jsonTokens = 0;
  let described = 0;
  let compact = 0;
  for (const listing of listings) {
    const { server } = buildServerModel(listing, "server");
    for (const tool of server.tools) {
      const { name, description, inputSchema, outputSchema } = tool.definition;
      jsonTokens += countTokens(JSON.stringify({ name, description, inputSchema, outputSchema }));
      described += countTokens(`${await printToolSignature(tool)}\n`);
      compact += countTokens(`${await printCompactSignature(tool)}\n`);
    }
  }
  const share = (name: string, tokens: number, atMost: number): Figure => ({
    name,
    value: tokens / jsonTokens,
    unit: "times",
    against: "the JSON definitions, in tokens",
    bound: { atMost },
    detail: `${tokens} of ${jsonTokens} tokens (o200k)`,
  });
  return [
    share("signatures, every description kept", described, 0.72),
    share("signatures, compact", compact, 0.2),
  ];
}
