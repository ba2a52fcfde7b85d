/** The console of a project for the person at this machine, who sees what commands show them. */
import { randomBytes } from "node:crypto";
import { clock } from "../../base/clock.ts";
import { OneTimeAddress } from "../../console/entrance.ts";
import { LoopbackServer } from "../../console/serve-console.ts";
import { KeyList, SEALING_KEY_BYTES } from "../../secrets/sealing.ts";
import { LOCAL_USER, localUserName } from "../local-user.ts";
import type { Project } from "../open-project.ts";
import { openConsole } from "./console.ts";
import { sessionsOfUser } from "./me.ts";

export interface LocalConsole {
  /** An address that opens the console once. */
  address(): string;
  /** Ends the console, and with it the server. The project stays open. */
  close(): Promise<void>;
}

/**
 * Serves the console of a project on a port of loopback. What runs programs is loaded when somebody first tries something.
 *
 * @param port 0 for one that is free.
 * @throws Error where it cannot listen.
 */
export async function openLocalConsole(project: Project, port: number): Promise<LocalConsole> {
  const { configuration, onWarning } = project;
  // Passkeys need a name.
  const name = configuration.approvals.require === "passkey" ? "localhost" : "127.0.0.1";
  const server = await LoopbackServer.listen(port, name);
  const now = () => Math.round(clock.wallMs());
  const address = new OneTimeAddress({ ...LOCAL_USER, name: localUserName() }, now);
  const key = new KeyList([randomBytes(SEALING_KEY_BYTES)]);
  let host: ReturnType<typeof openHostOf> | undefined;
  const console = openConsole(project, {
    origin: server.origin,
    entrance: address,
    sealer: async () => key,
    now,
    host() {
      host ??= openHostOf(project);
      return host;
    },
    tools: () => project.tools(),
    sessions: () => sessionsOfUser(project.configuration, project.env),
    onPasskey({ event, credential, reason = "" }) {
      const what = event === "passkey_added" ? "registered" : "removed";
      onWarning(`a passkey was ${what} in the console, ${credential} (${reason})`);
    },
  });
  server.serve(console);
  return {
    address: () => address.make(server.origin),
    async close() {
      console.close();
      await server.close();
    },
  };
}

async function openHostOf(project: Project) {
  const { openHost } = await import("../open-host.ts");
  return openHost(project, { warm: 0 });
}
