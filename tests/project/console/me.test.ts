import { expect, it } from "vitest";
import { parseConfiguration } from "../../../configuration/parse.ts";
import { isRefusal } from "../../../identity/caller.ts";
import { Tokens } from "../../../identity/tokens.ts";
import { sessionsOfHost, sessionsOfUser, tokensForConsole } from "../../../project/console/me.ts";
import { openHost } from "../../execution/sessions/session-host.ts";
import { newFolder } from "../../temporary-folder.ts";

it("a token that is revoked in the console counts no more, and one that is not there is named", async () => {
  const directory = newFolder();
  const configuration = parseConfiguration("{}", { file: "ptc.yaml", directory, environment: {} });
  const token = await Tokens.open(configuration, {}).create("nightly", {
    ...{ groups: ["ci"], scopes: ["ptc:run"], expiresAt: Date.now() + 60_000 },
  });
  const known = tokensForConsole(() => configuration, {});
  expect(await known.list()).toMatchObject([{ name: "nightly", principal: "token#nightly", groups: ["ci"] }]);
  expect(JSON.stringify(await known.list())).not.toContain(token);
  expect(await known.revoke("nightly", undefined)).toBeUndefined();
  expect(isRefusal(await Tokens.open(configuration, {}).callerOf(token))).toBe(true);
  expect(await known.revoke("nightly", undefined)).toEqual({
    why: expect.stringContaining("no token 'nightly'"),
  });
});

it("a session of a host is listed for its principal alone, and ended", async () => {
  const { host, run } = await openHost();
  await run("report", "1");
  const own = sessionsOfHost(host.sessions("local"));
  expect(await sessionsOfHost(host.sessions("eve")).list()).toEqual([]);
  expect(await own.list()).toMatchObject([{ id: "report", name: "report", programs: 1 }]);
  expect(await own.end("nothing")).toBe(false);
  expect(await own.end("report")).toBe(true);
  expect(await own.list()).toEqual([]);
});

it("a user without sessions has none, in no process", async () => {
  const directory = newFolder();
  const configuration = parseConfiguration("{}", { file: "ptc.yaml", directory, environment: {} });
  const sessions = sessionsOfUser(configuration, { HOME: directory, XDG_STATE_HOME: directory });
  expect(await sessions.list()).toEqual([]);
  expect(await sessions.end("1 report")).toBe(false);
});
