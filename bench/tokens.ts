import type { ServerListing } from "../catalog/server-listing.ts";
import { buildServerModel } from "../catalog/tool-model.ts";
import { printCompactSignature, printToolSignature } from "../codegen/typescript/print-signature.ts";

/** Tokens of all tools in one form, against their definitions as JSON (name, description and schemas). */
export interface TokenShare {
  name: string;
  tokens: number;
  jsonTokens: number;
  maxShare: number;
}

/** What a model reads of every tool of some servers, by the count of a tokenizer. */
export async function measureTokens(
  listings: readonly ServerListing[],
  countTokens: (text: string) => number,
): Promise<TokenShare[]> {
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
  return [
    { name: "signatures, every description kept", tokens: described, jsonTokens, maxShare: 0.72 },
    { name: "signatures, compact", tokens: compact, jsonTokens, maxShare: 0.2 },
  ];
}

/** Prints a share and returns whether it is small enough. */
export function reportTokens({ name, tokens, jsonTokens, maxShare }: TokenShare): boolean {
  const share = tokens / jsonTokens;
  const holds = share <= maxShare;
  const percent = `${(share * 100).toFixed(1)} % of the JSON definitions' tokens`;
  console.log(`${name}: ${percent} (at most ${maxShare * 100} %) ${holds ? "ok" : "TOO MANY"}`);
  console.log(`    ${tokens} of ${jsonTokens} tokens (o200k)`);
  return holds;
}
