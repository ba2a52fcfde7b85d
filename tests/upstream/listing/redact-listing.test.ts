import { expect, it } from "vitest";
import { Redactor } from "../../../secrets/redaction.ts";
import { redactListing } from "../../../upstream/redact-listing.ts";
import { FakeConnection } from "../pool/fake-connection.ts";
import { callOptions } from "../upstream-fixtures.ts";

it("takes secrets out of what a server lists, and leaves what it answers as it came", async () => {
  const connection = new FakeConnection();
  const secret = "tok-4f6Hq81zLw";
  connection.listTools = async () => [{ name: "go", description: `pass ${secret}` }];
  const redactor = new Redactor([]);
  const redacted = redactListing(connection, redactor);
  expect(await redacted.listTools()).toEqual([{ name: "go", description: `pass ${secret}` }]);
  redactor.add(secret);
  expect(await redacted.listTools()).toEqual([{ name: "go", description: "pass [REDACTED]" }]);
  expect(await redacted.callTool("go", { secret }, callOptions())).toEqual({ tool: "go", args: { secret } });
});
