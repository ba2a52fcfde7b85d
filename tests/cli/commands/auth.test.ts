import { chmodSync, statSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { main } from "../../../cli/main.ts";
import { eventually } from "../../eventually.ts";
import { ScriptedBrowser } from "../../upstream/authorization/servers/browser.ts";
import { serveProtected } from "../../upstream/authorization/servers/protected-server.ts";
import { serveRouter } from "../../upstream/authorization/servers/router-server.ts";
import { expectRefusal, projectFromSources, userProject } from "../in-process.ts";
import { surroundingsIn } from "../surroundings.ts";
import { hasPython, onTerminal, WITHOUT_PYTHON } from "../terminal/run-on-terminal.ts";

/** A browser as `BROWSER` names one: it opens the address and goes where that leads. */
const BROWSER = `#!${process.execPath}\nawait fetch(process.argv[2]);\n`;

async function setUp() {
  const router = await serveRouter();
  const guard = { authorizationServers: [router.issuer], verifier: router, scopes: ["read"] };
  const server = await serveProtected(guard);
  const servers = [
    { name: "guarded", url: server.url },
    { name: "local", command: "node" },
    { name: "keyed", url: server.url, headers: { Authorization: "Bearer x" } },
  ];
  const project = userProject({ "ptc.yaml": JSON.stringify({ servers }), "browser.mjs": BROWSER });
  const { folder, path } = project;
  chmodSync(path("browser.mjs"), 0o755);
  const env = { ...project.env, PATH: process.env.PATH, BROWSER: path("browser.mjs") };
  const start = (...args: string[]) => {
    const stdin = new PassThrough();
    const own = surroundingsIn(folder, ["node", "ptc", "auth", ...args]);
    const out = { stdout: () => own.stdout.text, stderr: () => own.stderr.text };
    return { out, stdin, code: main({ ...own, env, stdin }) };
  };
  const ptc = async (...args: string[]) => {
    const { out, code } = start(...args);
    return { code: await code, stdout: out.stdout(), stderr: out.stderr() };
  };
  return { router, server, start, ptc };
}

describe("ptc auth", () => {
  it("logs in with the browser, shows the login, and logs out", async () => {
    const { router, server, ptc } = await setUp();
    expect((await ptc("status")).stdout).toContain(
      "guarded  not logged in; if it asks for a login, run `ptc auth login guarded`",
    );
    const login = await ptc("login");
    expect(login).toMatchObject({ code: 0, stdout: "logged in to 'guarded': 3 tools\n" });
    expect(login.stderr).toMatch(
      /^ptc: log in with the browser that was just opened, or at\n {2}http:\S+\n$/,
    );
    const token = server.tokens.findLast((each) => each !== undefined) ?? "";
    const [status] = JSON.parse((await ptc("status", "guarded", "--json")).stdout);
    expect(status).toMatchObject({ state: "logged_in", issuer: router.issuer, scope: "read", renews: true });
    expect(JSON.stringify(status)).not.toContain(token);
    expect(await ptc("logout", "guarded")).toMatchObject({
      code: 0,
      stdout: "logged out of 'guarded', and its tokens are revoked\n",
    });
    expect(await router.verify(token)).toBeUndefined();
    expect((await ptc("logout", "guarded")).stdout).toBe("'guarded' had no login\n");
  });

  it("takes the address at which a browser elsewhere ended up", async () => {
    const { start } = await setUp();
    const { out, stdin, code } = start("login", "guarded", "--no-browser");
    await eventually(() => expect(out.stderr()).toContain("paste that address here"));
    const url = /^ {2}(http:\S+)$/m.exec(out.stderr())?.[1] ?? "";
    const ended = await new ScriptedBrowser().open(url, ({ pathname }) => pathname === "/callback");
    stdin.write("no idea\n");
    await eventually(() => expect(out.stderr()).toContain("that is not the address"));
    stdin.write(`${ended.url}\n`);
    expect(await code).toBe(0);
    expect(out.stdout()).toBe("logged in to 'guarded': 3 tools\n");
  });

  it("says in one line what cannot be logged in to, and gives up on nobody", async () => {
    const { ptc } = await setUp();
    const unknown = /^ptc: server 'gaurded' is not in the configuration; there are guarded, local, keyed\n$/;
    expectRefusal(await ptc("login", "gaurded"), unknown);
    expect((await ptc("login", "local")).stderr).toMatch(/is a program on this machine/);
    expect((await ptc("login", "keyed")).stderr).toMatch(/has its credentials in ptc\.yaml/);
    expect((await ptc("login", "guarded", "--timeout", "0")).stderr).toMatch(/--timeout must be/);
    expect(await ptc("login", "guarded", "--no-browser", "--timeout", "1")).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /server 'guarded' was not logged in to: nobody did within 1 s; --timeout gives it longer\n$/,
      ),
    });
  });
});

const FILE = ".local/state/ptc/secrets.json";

describe("ptc auth set", () => {
  it("keeps a secret for its owner only, and none that is too large", async () => {
    const project = projectFromSources();
    const set = (stdin: string) => project.ptc(["auth", "set", "a"], { env: project.env, stdin });
    expectRefusal(await set("x".repeat(65_537)), "stdin: is larger than 65536 bytes");
    expect(() => project.read(FILE)).toThrow();
    expect(await set("s3cret-value")).toMatchObject({ code: 0, stderr: "" });
    expect(statSync(join(project.directory, FILE)).mode & 0o777).toBe(0o600);
  });
});

describe.skipIf(!hasPython)(`ptc auth set on a terminal${WITHOUT_PYTHON}`, () => {
  it("asks for it and shows nothing of it", async () => {
    const project = projectFromSources();
    const steps: [string, string][] = [["it is not shown\\): ", "s3cret-valuX\u007fe\r"]];
    const screen = await onTerminal(project, steps, ["auth", "set", "hub"], project.env);
    expect(screen).toMatch(/^Value of 'hub' \(it is not shown\): \n'hub' is kept in /);
    expect(JSON.parse(project.read(FILE)).values).toEqual({ "secret/hub": "s3cret-value" });
  });

  it.each([
    ["Ctrl-C", "abc\u0003", /^Value of 'hub' \(it is not shown\): \n$/],
    ["several lines", "line-1\rline-2\r", /has more than one line, and nothing was changed; pipe it in\n$/],
    ["nothing", "\r", /nothing was given for 'hub'; nothing was changed\n$/],
  ])("keeps nothing after %s", async (_, typed, shown) => {
    const project = projectFromSources();
    const steps: [string, string][] = [["it is not shown\\): ", typed]];
    const screen = await onTerminal(project, steps, ["auth", "set", "hub"], project.env);
    expect(screen).toMatch(shown);
    expect(screen).not.toContain("line-1");
    expect(() => project.read(FILE)).toThrow();
  });
});
