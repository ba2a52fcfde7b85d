import { expect, it } from "vitest";
import type { RunContext } from "../../../protocol/run-context.ts";
import { connectLegacy } from "./clients.ts";
import { executed, serve } from "./served.ts";

it("runs a client's programs on behalf of whoever its session belongs to", async () => {
  const context: RunContext = { principal: "ada", source: "serve", session: "s-1" };
  const contexts: RunContext[] = [];
  const served = serve(
    async (_, options) => {
      contexts.push(options.context);
      return executed({ data: 1 });
    },
    { context },
  );
  const connected = await connectLegacy(served);
  await connected.callTool({ name: "execute_program", arguments: { code: "1" } });
  await connected.callTool({ name: "execute_program", arguments: { code: "2" } });
  await connected.close();
  await served.ended;
  const client = { name: "test", version: "1" };
  expect(contexts).toEqual([
    { ...context, client },
    { ...context, client },
  ]);
});
