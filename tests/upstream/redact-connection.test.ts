import { expect, it } from "vitest";
import { Redactor } from "../../secrets/redaction.ts";
import { redactConnection } from "../../upstream/redact-connection.ts";
import { UpstreamError } from "../../upstream/upstream-error.ts";
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

it("takes the credentials of a connection out of answers and reports of progress, also those that come later", async () => {
  const connection = new FakeConnection();
  const later: string[] = [];
  const known = ["tok-4f6Hq81zLw"];
  const redacted = redactConnection(connection, { redactor: new Redactor([]), known, current: () => later });
  const told: unknown[] = [];
  connection.callTool = async (call) => {
    call.onProgress?.({ progress: 1, message: `${call.arguments}` });
    return { tool: call.tool, args: call.arguments };
  };
  const onProgress = (report: unknown) => void told.push(report);
  const ask = (args: string) => redacted.callTool(toolCall("go", args, { onProgress }));
  expect(await ask("a tok-4f6Hq81zLw")).toEqual({ tool: "go", args: "a [REDACTED]" });
  expect(await ask("renewed-9Zq27bLx")).toEqual({ tool: "go", args: "renewed-9Zq27bLx" });
  later.push("renewed-9Zq27bLx");
  expect(await ask("renewed-9Zq27bLx")).toEqual({ tool: "go", args: "[REDACTED]" });
  expect(told).toEqual(
    ["a [REDACTED]", "renewed-9Zq27bLx", "[REDACTED]"].map((message) => ({ progress: 1, message })),
  );
});

it("passes on that tools have changed and that the connection is lost or closed", async () => {
  const connection = new FakeConnection();
  const redacted = redactConnection(connection, { redactor: new Redactor([]), known: [] });
  const heard: unknown[] = [];
  redacted.onToolsChanged(() => heard.push("changed"));
  redacted.onLost((reason) => heard.push(reason));
  connection.changeTools();
  const reason = new UpstreamError("disconnected", "gone");
  connection.lose(reason);
  expect(heard).toEqual(["changed", reason]);
  await redacted.close();
  expect(connection.closed).toBe(true);
});
