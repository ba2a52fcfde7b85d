import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, inject } from "vitest";
import { freePort } from "../free-port.ts";
import { type FillIn, ScriptedBrowser } from "../upstream/authorization/servers/browser.ts";

const TEAM = join(import.meta.dirname, "../../examples/team");
const ADMIN = { username: "admin", password: "admin-example" };
const START_MS = 180_000;

/** A realm as Keycloak exports it, as far as tests change it. */
export interface Realm {
  realm: string;
  users: { username: string; groups: string[]; credentials: { type: string; value: string }[] }[];
  clients: { clientId: string; redirectUris?: string[]; [setting: string]: unknown }[];
  clientScopes: { name: string; protocolMappers: { name: string; config: object }[] }[];
}

export interface Keycloak {
  /** Adds the realm of the example for a team, for a ptc at this origin. @param change makes it that of the test. */
  addTeam(origin: string, change?: (realm: Realm) => void): Promise<Team>;
}

export interface Team {
  readonly issuer: string;
  /** A browser in which a person of the realm logs in. */
  browserOf(username: string): ScriptedBrowser;
}

/**
 * Tests at a real Keycloak. `PTC_TEST_KEYCLOAK` names the folder of an unpacked one, which needs Java. Without it, and without
 * sandboxes, they are skipped.
 */
export function describeKeycloak(title: string, tests: (keycloak: () => Keycloak) => void): void {
  const { PTC_TEST_KEYCLOAK: folder } = process.env;
  const problem =
    folder === undefined
      ? "PTC_TEST_KEYCLOAK names no folder of Keycloak"
      : existsSync(join(folder, "bin/kc.sh"))
        ? inject("sandboxProblem")
        : `there is no Keycloak in ${folder}`;
  if (folder === undefined || problem !== "") {
    describe.skip(`${title} (skipped: ${problem})`, () => tests(() => NONE));
    return;
  }
  describe(title, () => {
    let keycloak = NONE;
    let stop = async () => {};
    beforeAll(async () => {
      ({ keycloak, stop } = await startKeycloak(folder));
    }, START_MS);
    afterAll(() => stop());
    tests(() => keycloak);
  });
}

const NONE: Keycloak = {
  addTeam: async () => {
    throw new Error("no Keycloak has been started");
  },
};

async function startKeycloak(folder: string): Promise<{ keycloak: Keycloak; stop: () => Promise<void> }> {
  const port = await freePort();
  const at = `http://localhost:${port}`;
  const options = [`--http-port=${port}`, "--http-host=127.0.0.1", `--hostname=${at}`, "--db=dev-mem"];
  const server = spawn(join(folder, "bin/kc.sh"), ["start-dev", ...options], {
    // Its own process group: the script starts Java as its child.
    detached: true,
    env: {
      ...process.env,
      KC_BOOTSTRAP_ADMIN_USERNAME: ADMIN.username,
      KC_BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(server, "exit");
  let printed = "";
  await new Promise<void>((resolve, reject) => {
    server.stdout.on("data", (chunk) => {
      printed += chunk;
      if (printed.includes("Listening on:")) resolve();
    });
    ended.then(() => reject(new Error(`Keycloak has ended: ${printed}`)), reject);
  });
  const keycloak: Keycloak = {
    async addTeam(origin, change = () => {}) {
      const text = readFileSync(join(TEAM, "realm.json"), "utf8").replaceAll("http://localhost:8080", origin);
      const realm = JSON.parse(text) as Realm;
      realm.realm = `team-${new URL(origin).port}`;
      change(realm);
      const granted = await fetch(`${at}/realms/master/protocol/openid-connect/token`, {
        method: "POST",
        body: new URLSearchParams({ grant_type: "password", client_id: "admin-cli", ...ADMIN }),
      });
      const { access_token: token } = (await granted.json()) as { access_token: string };
      const added = await fetch(`${at}/admin/realms`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify(realm),
      });
      if (added.status !== 201) throw new Error(`Keycloak takes no realm: ${await added.text()}`);
      return {
        issuer: `${at}/realms/${realm.realm}`,
        browserOf: (username) => new ScriptedBrowser(logIn(realm, username)),
      };
    },
  };
  const stop = async () => {
    if (server.pid !== undefined && server.exitCode === null) process.kill(-server.pid, "SIGKILL");
    await ended;
  };
  return { keycloak, stop };
}

/** Fills in the page on which Keycloak asks for name and password. */
function logIn({ users }: Realm, username: string): FillIn {
  const password = users.find((user) => user.username === username)?.credentials[0]?.value ?? "";
  return (page) => {
    const [, action] = /<form id="kc-form-login"[^>]* action="([^"]+)"/.exec(page) ?? [];
    return action === undefined
      ? undefined
      : { action: action.replaceAll("&amp;", "&"), fields: { username, password } };
  };
}
