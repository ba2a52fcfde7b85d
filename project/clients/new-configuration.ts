/** A new ptc.yaml: with the servers of clients, and without secrets in plain text. */
import { realpathSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { findPtcInClaude } from "../../configuration/clients/claude-code.ts";
import { type ToolSettings, toolSettings } from "../../configuration/clients/client-rules.ts";
import {
  findPlainSecrets,
  fromKeyring,
  fromVariable,
  keyringNameOf,
  type PlainSecret,
  replaceSecrets,
  SecretVariables,
  withoutArgumentSecrets,
} from "../../configuration/plain-secrets.ts";
import type { ServerEntry } from "../../configuration/settings/server-settings.ts";
import { renderConfiguration } from "../../configuration/write-file.ts";
import { UserSecrets } from "../../secrets/user-secrets.ts";
import { Refusal } from "../refusal.ts";
import { findTwice, type Here, type ServersTwice } from "./client-files.ts";
import type { FoundServers } from "./found-servers.ts";

export const NEW_FILE = "ptc.yaml";

/** What became of the values in plain text that look secret, in lines for people. */
interface WithoutSecrets {
  servers: ServerEntry[];
  told: string[];
}

/** A ptc.yaml that is about to be written into the working directory. */
export class NewConfiguration {
  /** The values in plain text that look secret, as people find them: server and name. */
  readonly plain: readonly string[];
  readonly #here: Here;
  readonly #found: FoundServers | undefined;
  readonly #names = new SecretVariables();
  readonly #told: string[] = [];
  readonly #cleaned: readonly ServerEntry[];
  readonly #secrets: readonly PlainSecret[];

  /** @param found the servers that it gets. Secrets in their arguments and URLs become variables. */
  constructor(found: FoundServers | undefined, here: Here) {
    this.#here = here;
    this.#found = found;
    this.#cleaned = (found?.servers ?? []).map(({ entry: server }) => {
      const { entry, variables } = withoutArgumentSecrets(server, this.#names);
      for (const { variable } of variables)
        this.#told.push(
          `a secret among the arguments or in the URL of '${server.name}' is \${${variable}} now: set ${variable}`,
        );
      return entry;
    });
    this.#secrets = this.#cleaned.flatMap((entry) => findPlainSecrets(entry));
    this.plain = this.#secrets.map(({ server, key }) => `${server}: ${key}`);
  }

  /** Puts the secrets into the keyring, so that ptc.yaml only names them. @throws Refusal when the keyring cannot be written. */
  async withSecretsInKeyring(): Promise<WithoutSecrets> {
    const keyring = new UserSecrets(this.#here.env);
    const told = [...this.#told];
    for (const secret of this.#secrets) {
      const kept = await keyring.set(keyringNameOf(secret), secret.secret);
      if (!kept.ok) throw new Refusal(`${kept.why}; nothing was written`);
      told.push(`${secret.key} of '${secret.server}' is kept as '${keyringNameOf(secret)}' in ${kept.where}`);
    }
    return { servers: this.#replaceSecrets(fromKeyring), told };
  }

  /** Puts variables in the place of the secrets. */
  withSecretsInVariables(): WithoutSecrets {
    const variableOf = ({ server, key, secret }: PlainSecret) =>
      this.#names.nameFor(server, key, secret, /^[A-Za-z_]\w*$/.test(key));
    const told = this.#secrets.map((secret) => {
      const variable = variableOf(secret);
      return `${secret.key} of '${secret.server}' looks secret, and is \${${variable}} now: set ${variable}`;
    });
    const instead = (secret: PlainSecret) => fromVariable(secret, variableOf(secret));
    return { servers: this.#replaceSecrets(instead), told: [...this.#told, ...told] };
  }

  #replaceSecrets(instead: Parameters<typeof replaceSecrets>[2]): ServerEntry[] {
    return this.#cleaned.map((entry) => replaceSecrets(entry, this.#secrets, instead));
  }

  /**
   * Writes the file.
   *
   * @param after lines for its end.
   * @throws Error of the file system, also when the file exists.
   */
  async write(servers: readonly ServerEntry[], after: string): Promise<WrittenConfiguration> {
    const { env } = this.#here;
    const cwd = this.#here.cwd();
    const withValues = servers.filter(hasValues).map(({ name }) => name);
    const settings = toolSettings(servers, this.#found?.tools ?? []);
    // The remaining values in `env` and `headers` may still be secret, so only the owner may read the file.
    const mode = withValues.length > 0 ? 0o600 : 0o666;
    const path = join(cwd, NEW_FILE);
    const text = renderConfiguration(servers, settings) + after;
    await writeFile(path, text, { flag: "wx", mode }).catch(async (error) => {
      if (error.code !== "EEXIST") await rm(path, { force: true });
      throw error;
    });
    const names = new Set(servers.map(({ name }) => name));
    const { skipped = [], notes = [], searched = [] } = this.#found ?? {};
    return {
      skipped,
      notes: [...notes.filter(({ name }) => names.has(name)), ...settings.notes],
      withValues,
      settings,
      twice: () => findTwice(searched, { servers, project: realpathSync(cwd) }, this.#here),
      plugin: findPtcInClaude(env, cwd).plugin,
    };
  }
}

/** What is to be said of a ptc.yaml that was written. */
export interface WrittenConfiguration {
  skipped: FoundServers["skipped"];
  notes: FoundServers["notes"];
  /** Servers whose `env` or `headers` hold values that are written out. */
  withValues: readonly string[];
  /** What the clients' lists of tools have become. */
  settings: ToolSettings;
  /** The entries of clients' files for the same servers. */
  twice(): Promise<ServersTwice>;
  /** Claude Code's name of the plugin by which it has ptc, if it has one. */
  plugin: string | undefined;
}

/** Whether `env` or `headers` hold a value that is written out. */
function hasValues({ env = {}, headers = {} }: ServerEntry): boolean {
  return [...Object.values(env), ...Object.values(headers)].some(
    (value) => typeof value === "string" && !value.includes("${"),
  );
}
