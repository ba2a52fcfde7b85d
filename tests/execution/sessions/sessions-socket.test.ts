import { readdirSync, statSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { projectOf } from "../../../execution/sessions/open-sessions.ts";
import { findSessions } from "../../../execution/sessions/sessions-socket.ts";
import { openHost } from "./session-host.ts";

test("other processes of the user find the sessions of a project, and end them", async () => {
  const { run, configuration, env } = await openHost();
  expect((await findSessions(projectOf(configuration), env)).sessions).toEqual([]);
  await run("a", "const x = 1;");
  await run("b", "1", { principal: "other" });
  const found = await findSessions(projectOf(configuration), {
    ...env,
    XDG_RUNTIME_DIR: env.XDG_RUNTIME_DIR,
  });
  expect(found.sessions).toMatchObject([{ name: "a", through: "serve", programs: 1, pid: process.pid }]);
  expect((await findSessions("/another/ptc.yaml", env)).sessions).toEqual([]);
  const [session] = found.sessions;
  expect(session && (await found.end({ ...session, pid: process.ppid }))).toBe(false);
  expect(session && (await found.end({ ...session, name: "b" }))).toBe(false);
  expect(session && (await found.end(session))).toBe(true);
  expect(session && (await found.end(session))).toBe(false);
  expect((await findSessions(projectOf(configuration), env)).sessions).toEqual([]);
});

test("what is no question to a process with sessions is not answered, and nobody else can ask", async () => {
  const { run, env } = await openHost();
  await run("a", "1");
  const base = join(env.XDG_RUNTIME_DIR, `ptc-${process.getuid?.()}`);
  const [own = ""] = readdirSync(base);
  const path = join(base, own, "sessions.sock");
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(statSync(base).mode & 0o777).toBe(0o700);
  const ask = async (said: string) => {
    const socket = connect(path);
    socket.on("error", () => {});
    socket.write(said);
    let text = "";
    for await (const piece of socket.setEncoding("utf8")) text += piece;
    return text;
  };
  const wrong = [
    "\n",
    "{}\n",
    '{"wants":"end"}\n',
    '{"wants":"list","principal":"other"}\n',
    "x".repeat(2_000),
    `${"[".repeat(900)}\n`,
  ];
  for (const said of wrong) expect(await ask(said).catch(() => "")).toBe("");
  expect(JSON.parse(await ask('{"wants":"list"}\n'))).toMatchObject({ sessions: [{ name: "a" }] });
});
