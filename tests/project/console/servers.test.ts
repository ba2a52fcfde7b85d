import { expect, it, onTestFinished } from "vitest";
import { parseConfiguration } from "../../../configuration/parse.ts";
import { ModuleGenerator } from "../../../generation/generate.ts";
import { GeneratedFolder } from "../../../generation/generated-folder.ts";
import { loginStatus } from "../../../logins/logins.ts";
import {
  checkForConsole,
  connectForConsole,
  disconnectForConsole,
} from "../../../project/console/servers.ts";
import { openHost } from "../../../project/open-host.ts";
import { Project } from "../../../project/open-project.ts";
import { fixtureServer } from "../../cli/ptc-process.ts";
import { newFolder } from "../../temporary-folder.ts";
import { ScriptedBrowser } from "../../upstream/authorization/servers/browser.ts";
import { serveProtected } from "../../upstream/authorization/servers/protected-server.ts";
import { serveRouter } from "../../upstream/authorization/servers/router-server.ts";

const { signal } = new AbortController();

function hostOf(directory: string, servers: readonly object[]) {
  const env = { HOME: directory, XDG_STATE_HOME: directory, PTC_KEYRING: "off" };
  const configuration = parseConfiguration(JSON.stringify({ servers, sandbox: { warm: 0 } }), {
    ...{ file: "ptc.yaml", directory, environment: {} },
  });
  const host = openHost(new Project(configuration, { env, onWarning: () => {} }), { warm: 0 });
  onTestFinished(() => host.close());
  return { host, configuration, env };
}

it("servers are asked for their tools, and compared with those that were generated", async () => {
  const folder = newFolder();
  const before = hostOf(folder, [fixtureServer("echo", "echo-v1.mjs")]);
  const { configuration } = before;
  const generator = new ModuleGenerator({
    ...{ configuration, servers: configuration.servers },
    upstreams: await before.host.serversOf("local"),
    folder: new GeneratedFolder(configuration),
  });
  await generator.write(await generator.propose(signal));
  expect(await checkForConsole(before.host, "local", signal)).toEqual([{ server: "echo" }]);
  const { host } = hostOf(folder, [
    fixtureServer("echo", "echo-v2.mjs"),
    fixtureServer("gone", "exits-at-once.mjs"),
  ]);
  const checked = await checkForConsole(host, "local", signal);
  expect(checked).toMatchObject([
    { server: "echo", difference: { change: "changed" } },
    { server: "gone", why: expect.stringContaining("server 'gone'") },
  ]);
});

it("a login is begun and finished in a browser, seen, and removed again", async () => {
  const router = await serveRouter();
  const server = await serveProtected({
    ...{ authorizationServers: [router.issuer], verifier: router, scopes: ["read"] },
  });
  const { host, configuration, env } = hostOf(newFolder(), [
    { name: "guarded", url: server.url },
    { name: "plain", url: server.url, headers: { Authorization: "Bearer x" } },
  ]);
  const stateOf = async () => (await loginStatus(configuration, "local", env))[0]?.state;
  const begun = await connectForConsole(host, "local", "guarded", signal);
  if ("why" in begun) throw new Error(begun.why);
  expect(await stateOf()).toBe("none");
  await new ScriptedBrowser().open(begun.address);
  await expect.poll(stateOf).toBe("logged_in");
  expect(await checkForConsole(host, "local", signal)).toMatchObject([
    { server: "guarded" },
    { server: "plain" },
  ]);
  expect(await disconnectForConsole(host.project, "local", "guarded")).toBeUndefined();
  expect(await stateOf()).toBe("none");
  expect(await connectForConsole(host, "local", "plain", signal)).toMatchObject({
    why: expect.stringContaining("has no login"),
  });
});

it("a person elsewhere is led through ptc's own address, where they say who they are first", async () => {
  const router = await serveRouter();
  const server = await serveProtected({
    ...{ authorizationServers: [router.issuer], verifier: router, scopes: ["read"] },
  });
  const { host } = hostOf(newFolder(), [{ name: "guarded", url: server.url }]);
  await host.serveLogins({
    publicUrl: "https://ptc.example.com/mcp",
    sealer: async () => {
      const { KeyList } = await import("../../../secrets/sealing.ts");
      return new KeyList([Buffer.alloc(32, 3)]);
    },
    issuers: async () => [],
    principalOf: () => undefined,
  });
  const over = new AbortController();
  const begun = await connectForConsole(host, "https://login.example.com#ada", "guarded", over.signal);
  expect(begun).toEqual({
    address: expect.stringMatching(/^https:\/\/ptc\.example\.com\/mcp\/logins\/start\?/),
  });
  over.abort();
});
