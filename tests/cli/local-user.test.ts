import { hostname, userInfo } from "node:os";
import { expect, test } from "vitest";
import { localContext } from "../../cli/local-user.ts";

test.each([
  ["7b1e6f0a-2c4d-4e8f-9a1b-3c5d7e9f0a2b", "7b1e6f0a-2c4d-4e8f-9a1b-3c5d7e9f0a2b"],
  [undefined, undefined],
  ["", undefined],
  ["two words", undefined],
  ["\u001b[2J", undefined],
  ["a".repeat(129), undefined],
])("a client that calls its conversation %j has its runs carry %j", (given, clientSession) => {
  const context = localContext("run", { CLAUDE_CODE_SESSION_ID: given });
  expect(context).toEqual({
    principal: "local",
    source: "run",
    actor: { user: userInfo().username, uid: process.getuid?.(), host: hostname() },
    client: { name: "ptc run" },
    ...(clientSession !== undefined && { clientSession }),
  });
});
