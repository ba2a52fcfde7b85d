import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { RemoteServer } from "../../configuration/configuration.ts";
import { parseConfiguration } from "../../configuration/parse.ts";
import { loginKeyOf, openLoginStore } from "../../logins/logins.ts";
import { composition } from "../../project/composition.ts";
import { Host } from "../../project/host.ts";
import { LOCAL_USER } from "../../project/local-user.ts";
import { Project } from "../../project/open-project.ts";
import { saveProgram } from "../../project/programs/save-program.ts";
import { composeUpstreams } from "../../project/servers/upstreams.ts";
import { eventually } from "../eventually.ts";
import { InProcessEngine } from "../sandbox/in-process-engine.ts";
import { turns } from "../sandbox/pool/open-pool.ts";
import { newFolder } from "../temporary-folder.ts";

const RING = "ring-token-4711-x";
const FILED = "filed-token-4711-y";
const TOKEN = "login-token-4711-z";

/** A project whose servers get a secret of the keyring, a secret of a file, and a login. */
function openSecretProject(more: object = {}) {
  const directory = newFolder();
  writeFileSync(join(directory, "token"), FILED, { mode: 0o600 });
  const env = { HOME: directory, XDG_STATE_HOME: directory, PTC_KEYRING: "off" };
  const servers = [
    { name: "ring", command: "ring", env: { TOKEN: { keyring: "hub" } } },
    { name: "file", command: "file", env: { TOKEN: { file: "token" } } },
    { name: "remote", url: "http://127.0.0.1:9/mcp", auth: { type: "oauth" } },
  ];
  const configuration = parseConfiguration(JSON.stringify({ servers, ...more }), {
    file: "ptc.yaml",
    directory,
    environment: {},
  });
  const project = new Project(configuration, {
    env,
    keyring: { get: async (name) => (name === "hub" ? RING : undefined) },
    onWarning() {},
  });
  onTestFinished(() => project.close());
  return { project, directory };
}

test("what is read for a login is redacted in the audit log, also where the login fails with it", async () => {
  const { project, directory } = openSecretProject();
  const { secrets } = composeUpstreams(project);
  const { signal } = new AbortController();
  secrets.onSecret(
    await secrets.sources.read({ from: "keyring", name: "hub", place: "", prefix: "" }, signal),
  );
  project.auditLogin({ principal: "local", server: "ring", event: "failed", reason: `no client ${RING}` });
  await project.close();
  const log = readFileSync(join(directory, ".ptc/audit.jsonl"), "utf8");
  expect(log).toContain("no client [REDACTED]");
  expect(log).not.toContain(RING);
});

test("a program is not saved whose text holds a secret of the keyring or of a file, or the token of a login", async () => {
  const { project } = openSecretProject();
  const { configuration, env } = project;
  const remote = configuration.servers.find(({ name }) => name === "remote") as RemoteServer;
  await openLoginStore(env).write(loginKeyOf(LOCAL_USER.principal, remote), {
    version: 1,
    principal: LOCAL_USER.principal,
    url: remote.url,
    issuer: "https://issuer.example",
    tokenEndpoint: "https://issuer.example/token",
    client: { id: "c", kind: "registered" },
    accessToken: TOKEN,
  });
  const host = {
    check: async () => ({ ok: false, type: "BundleError", message: "was checked", reasons: [] }) as const,
  };
  const save = (code: string) =>
    saveProgram(
      project,
      { code, language: "javascript" },
      { name: "report", description: undefined, expose: undefined, force: false },
      host,
    );
  for (const secret of [RING, FILED, TOKEN])
    await expect(save(`globalThis.result = "${secret}";`)).rejects.toThrow(
      "the program's text holds a secret",
    );
  await expect(save("globalThis.result = 1;")).rejects.toThrow("was checked");
});

test("whatever uses the servers of a project redacts the secrets of its storage", async () => {
  const url = "postgres://ptc:storage-password-1@127.0.0.1:9/ptc";
  const { project } = openSecretProject({
    storage: { url, encryption_key: Buffer.alloc(32, 7).toString("base64") },
  });
  composeUpstreams(project);
  const told = `${url} and ${Buffer.alloc(32, 7).toString("base64")}`;
  await eventually(() => expect(project.redactText(told)).not.toMatch(/storage-password-1|Bwc/));
});

test("what a host is opening when its project closes is ended too", async () => {
  const { project } = openSecretProject();
  const ended: string[] = [];
  const load = Promise.withResolvers<void>();
  const host = new Host(project, {}, async () => {
    await load.promise;
    return {
      ...composition,
      composeExecution(of, options) {
        of.onClose(async () => ended.push("a part"));
        return composition.composeExecution(of, { ...options, warm: 0 });
      },
    };
  });
  const warmed = host.warm();
  const closed = host.close();
  load.resolve();
  await Promise.all([warmed, closed]);
  expect(ended).toEqual(["a part"]);
});

test("a secret stays secret when the configuration is another one", () => {
  const { project } = openSecretProject({});
  const next = (env: object) =>
    parseConfiguration(JSON.stringify({ servers: [{ name: "a", command: "a", env }] }), {
      file: "ptc.yaml",
      directory: project.configuration.directory,
      environment: {},
    });
  project.reconfigure(next({ API_KEY: "first-key-4711-abc" }));
  project.reconfigure(next({ API_KEY: "second-key-4711-def" }));
  expect(project.redactText("first-key-4711-abc second-key-4711-def")).toBe("[REDACTED] [REDACTED]");
});

test("a host prepares without a sandbox, and has one for the first program of a client that is there", async () => {
  const { project } = openSecretProject();
  const engine = new InProcessEngine();
  const host = new Host(project, { engine: () => engine, warm: 2 }, async () => composition);
  await host.prepare();
  await turns();
  expect(engine.requests).toEqual([]);
  await host.warm();
  await eventually(() => expect(engine.live.size).toBe(1));
  await host.close();
  expect([engine.requests.length, engine.live.size]).toEqual([1, 0]);
});
