import { expect, it } from "vitest";
import { Redactor } from "../../secrets/redaction.ts";
import { redactConnection } from "../../upstream/redact-connection.ts";
import { FakeConnection } from "./fake-connection.ts";
import { toolCall } from "./upstream-fixtures.ts";

it("takes secrets out of what a server lists, and leaves what it answers as it came", async () => {
  const connection = new FakeConnection();
  const secret = "tok-4f6Hq81zLw";
  connection.tools = [{ name: "go", description: `pass ${secret}` }];
  const redactor = new Redactor([]);
  const redacted = redactConnection(connection, { redactor, known: [] });
  expect((await redacted.list()).tools).toEqual([{ name: "go", description: `pass ${secret}` }]);
  redactor.add(secret);
  expect((await redacted.list()).tools).toEqual([{ name: "go", description: "pass [REDACTED]" }]);
  expect(await redacted.callTool(toolCall("go", { secret }))).toEqual({ tool: "go", args: { secret } });
});
