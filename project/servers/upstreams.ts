import { join } from "node:path";
import { clock } from "../../base/clock.ts";
import { definitionDigest } from "../../catalog/parse-tool.ts";
import type { Configuration, RemoteServer, ServerConfiguration } from "../../configuration/configuration.ts";
import {
  credentialsOf,
  isRemote,
  startedServers,
  withoutPlaces,
} from "../../configuration/configured-servers.ts";
import { sandboxOf } from "../../configuration/server-sandbox.ts";
import type { ConfiguredServers } from "../../generation/list-servers.ts";
import { loginKeyOf, openLoginStore } from "../../logins/logins.ts";
import { serverCredentials } from "../../logins/server-credentials.ts";
import type { OpenEngine } from "../../sandbox/sandbox-engine.ts";
import type { Redactor } from "../../secrets/redaction.ts";
import { version } from "../../system/package.ts";
import { PRIVATE_FOLDER_NAME } from "../../system/private-folder.ts";
import type { ProcessGroups } from "../../system/process-group.ts";
import { clientViews } from "../../tools/client-names.ts";
import type { Authorization, Challenge, OnLogin } from "../../upstream/authorization/authorization.ts";
import type { Callers } from "../../upstream/authorization/callers.ts";
import {
  type CredentialSource,
  loginCredentials,
  type ServerCredentials,
  tellingSecrets,
} from "../../upstream/authorization/credentials.ts";
import { isSameIssuer, type LoginStore } from "../../upstream/authorization/login-store.ts";
import { CallerLogin, CallerOrElse, MachineLogin, StoredLogin } from "../../upstream/authorization/logins.ts";
import { type FollowedListings, type LiveServer, LiveToolServers } from "../../upstream/live-tool-servers.ts";
import { withCredentials } from "../../upstream/mcp/mcp-server-target.ts";
import { whySlow } from "../../upstream/mcp/start-time.ts";
import { redactConnection } from "../../upstream/redact-connection.ts";
import type { ConfiguredSecret, SecretSource } from "../../upstream/secret-source.ts";
import { type LoginSecrets, readAuthSecret, SecretSources } from "../../upstream/secret-sources.ts";
import type { UpstreamConnection } from "../../upstream/upstream.ts";
import { type PoolOptions, UpstreamPool, type UpstreamSource } from "../../upstream/upstream-pool.ts";
import type { Project } from "../open-project.ts";
import { ServerSandboxes, type ServerSandboxesOptions } from "../sandboxes/server-sandboxes.ts";

/** Upstream clients for the servers of the configuration that is in force. */
export interface ReconfigurablePool {
  readonly pool: UpstreamPool;
  /** Reads secrets for logins at the servers. */
  readonly secrets: LoginSecrets;
  /** Switches to another configuration. Ends the servers that it lacks or has with other settings. */
  reconfigure(next: Configuration): void;
}

export interface UpstreamsOptions extends PoolOptions {
  /** The credentials that servers receive; by default those of the configuration. */
  credentials?: CredentialSource | undefined;
  /** Receives every secret that was read, and its source. */
  onRead?: ((source: SecretSource, secret: string) => void) | undefined;
  /** The tokens with which principals call. */
  callers?: Callers | undefined;
  /** Starts the sandboxes of servers; by default the engine of `../sandboxes/engine.ts`. */
  engine?: OpenEngine | undefined;
  /** Whether the packages of servers in sandboxes are found anew and written into their lock; `missing`: only those that it does not have. */
  resolvesPackages?: ServerSandboxesOptions["resolvesPackages"];
  /** Receives the connections of servers in sandboxes, and the hosts that they may not reach. */
  onConnection?: ServerSandboxesOptions["onConnection"];
}

/**
 * Upstream clients for every configured server of a project, which end with it. The MCP client is loaded when the first of them is used.
 * The project's redactor learns every credential that a server receives, and the audit log has what happens to logins.
 *
 * @throws StateDirectoryError when the folder for this process's files cannot be made.
 */
export function composeUpstreams(
  project: Project,
  {
    credentials: source,
    onRead,
    callers,
    engine,
    resolvesPackages,
    onConnection,
    ...options
  }: UpstreamsOptions = {},
): ReconfigurablePool {
  const { configuration, redactor, env, keyring, onWarning } = project;
  const { groups } = project.own.state;
  const onLogin: OnLogin = (event) => project.auditLogin(event);
  void project.redactStorage();
  const ownSources = new SecretSources({
    env,
    keyring,
    redact: (text) => project.redactText(text),
    onSpawn: (pid) => groups.record(pid),
    onExit: (pid) => groups.forget(pid),
  });
  const secretSources: LoginSecrets["sources"] = {
    async read(from, signal) {
      const secret = await ownSources.read(from, signal);
      onRead?.(from, secret);
      return secret;
    },
  };
  const sourcesOf = (current: Configuration) => {
    const { directory, servers, secrets, credentials: configured } = current;
    const sandboxes = new ServerSandboxes(current, project, { engine, resolvesPackages, onConnection });
    const privateFolder = join(directory, PRIVATE_FOLDER_NAME);
    const views = clientViews(current);
    // A server is told of views only where a client could be given them: some list other tools then.
    const own = servers.map((each) => ({ ...each, apps: views?.get(each.module)?.apps === true }));
    const startedBy = (
      server: ServerConfiguration,
      of?: { readonly name: string; readonly account: string },
    ): UpstreamSource => ({
      name: server.name,
      isAccount: of !== undefined,
      off: server.off,
      whySlow: sandboxes.has(server)
        ? "its sandbox is being started"
        : server.transport === "stdio"
          ? whySlow(server.command)
          : undefined,
      identity: identityOf(server, current.sandbox),
      isShared: server.shared,
      use: server.use,
      async connect(signal, credentials, principal) {
        // The kind is the server's own, which types cannot say.
        const open = SOURCE_KINDS[server.transport] as Open<ServerConfiguration>;
        const connection = await open({
          // What is kept for a server is kept for all of its accounts.
          server: { ...server, name: of?.name ?? server.name },
          account: of?.account,
          signal,
          principal,
          credentials,
          secrets: [...secrets, ...credentials.secrets],
          redactor,
          groups,
          privateFolder,
          sandboxes,
          onWarning,
        });
        const { authorization } = credentials;
        const values = Object.values(credentials.values);
        const used = configured.filter((secret) => values.some((value) => value.includes(secret)));
        const known = [...credentialsOf(server), ...used, ...credentials.secrets];
        const current = authorization && (() => authorization.secrets());
        return redactConnection(connection, { redactor, known, current });
      },
    });
    return own.map((server): UpstreamSource => {
      if (server.accounts === undefined) return startedBy(server);
      const started = startedServers(server);
      const sources = Object.fromEntries(
        Object.keys(server.accounts).flatMap((account, index) => {
          const each = started[index];
          return each === undefined ? [] : [[account, startedBy(each, { name: server.name, account })]];
        }),
      );
      return { ...startedBy(server), accounts: sources };
    });
  };
  const onSecret = (secret: string) => redactor.add(secret);
  const secrets: LoginSecrets = { sources: secretSources, onSecret };
  const logins = openLoginStore(env, configuration);
  const sourceOf = (current: Configuration) =>
    tellingSecrets(
      source ??
        loginCredentials(
          serverCredentials(current.servers.flatMap(startedServers), secretSources),
          composeAuthorizations(current, logins, secrets, onLogin, callers),
        ),
      onSecret,
    );
  const pool = new UpstreamPool(sourcesOf(configuration), sourceOf(configuration), clock, options);
  project.onClose(() => pool.close());
  return {
    pool,
    secrets,
    reconfigure: (next) => pool.replace(sourcesOf(next), sourceOf(next)),
  };
}

/**
 * Opens the servers of a project for work that lists them and runs no program. They end with the project.
 *
 * @param principal uses the servers.
 * @throws StateDirectoryError when the folder for this process's files cannot be made.
 */
export function openServers(
  project: Project,
  principal: string,
  options: Pick<UpstreamsOptions, "resolvesPackages"> = {},
): ConfiguredServers {
  const { pool } = composeUpstreams(project, options);
  return { get: (name) => pool.get(principal, name) };
}

/** Everything that opening a connection needs. */
interface Opening<Server> {
  server: Server;
  /** Which of the server's accounts is used, if it has some. */
  account: string | undefined;
  signal: AbortSignal;
  principal: string;
  credentials: ServerCredentials;
  /** Texts to mask in messages. */
  secrets: readonly string[];
  redactor: Redactor;
  groups: ProcessGroups;
  /** The project's folder for what only this user reads. */
  privateFolder: string;
  sandboxes: ServerSandboxes;
  onWarning: (message: string) => void;
}

type Transport = ServerConfiguration["transport"];
type Open<Server> = (opening: Opening<Server>) => Promise<UpstreamConnection>;

/**
 * Starts or reaches one server, by the transport in its configuration. The code for a transport is loaded with its first server.
 */
const SOURCE_KINDS: { readonly [Kind in Transport]: Open<ServerConfiguration & { transport: Kind }> } = {
  stdio: openMcpServer,
  http: openMcpServer,
  sse: openMcpServer,
  async local({ server, credentials: { values: env, unread }, groups }) {
    const { LocalConnection } = await import("../../upstream/local/local-connection.ts");
    const onSpawn = (pid: number) => groups.record(pid);
    const onExit = (pid: number) => groups.forget(pid);
    return new LocalConnection(server.localTools, { env, unread, version, onSpawn, onExit });
  },
  async openapi({
    server,
    signal,
    credentials: { values: headers, authorization },
    privateFolder,
    onWarning,
  }) {
    const { openApi } = await import("../../upstream/openapi/open-api.ts");
    const timeoutMs = server.connectTimeoutMs;
    const onSlow = (message: string) => onWarning(`server '${server.name}': ${message}`);
    return openApi(server, { headers, authorization, version, timeoutMs, signal, privateFolder, onSlow });
  },
  async functions({ server, principal }) {
    const { FunctionConnection } = await import("../../upstream/functions/function-connection.ts");
    return new FunctionConnection(server.functions, { principal, version });
  },
  async model({ server, credentials, redactor }) {
    const { openModelConnection } = await import("./model-server.ts");
    return openModelConnection(server, credentials.values, redactor);
  },
};

async function openMcpServer({
  server,
  account,
  signal,
  credentials,
  secrets,
  groups,
  principal,
  sandboxes,
  onWarning,
}: Opening<ServerConfiguration & { transport: "stdio" | "http" | "sse" }>): Promise<UpstreamConnection> {
  const { connectMcpServer } = await import("../../upstream/mcp/connect-mcp-server.ts");
  return connectMcpServer(
    { ...withCredentials(server, credentials.values), account },
    {
      clientVersion: version,
      connectTimeoutMs: server.connectTimeoutMs,
      roots: sandboxes.rootsOf(server),
      apps: server.apps,
      sampling: server.sampling,
      launch: await sandboxes.launcherFor(server, { principal, account }, credentials.values, signal),
      authorization: credentials.authorization,
      secrets,
      signal,
      onWarning,
      onSpawn: (pid) => groups.record(pid, true),
      onStarted: (pid) => groups.record(pid),
      onExit: (pid) => groups.forget(pid),
    },
  );
}

/** A text that changes when a server is started or reached in another way. Positions in the file do not matter. */
function identityOf(server: ServerConfiguration, { servers, ...engine }: Configuration["sandbox"]): string {
  const sandbox = sandboxOf(server, servers);
  return JSON.stringify({
    ...withoutPlaces(server),
    sandbox: sandbox && { ...sandbox, engine: [engine.engine, engine.image, engine.runtime] },
    description: undefined,
    callTimeoutMs: undefined,
    use: undefined,
  });
}

/** The servers of a pool for programs. Each call is checked against the server's current list. */
export function composeServers(
  configuration: Configuration,
  pool: UpstreamPool,
  listings: FollowedListings | undefined,
): LiveToolServers {
  return new LiveToolServers(liveServers(configuration, pool), definitionDigest, listings);
}

/** The servers of a configuration, in the form that `LiveToolServers` takes. */
export function liveServers({ servers }: Configuration, pool: UpstreamPool): Map<string, LiveServer> {
  return new Map(
    servers.map(({ name, callTimeoutMs }) => {
      const upstreamFor = (principal: string) => pool.get(principal, name);
      return [name, { upstreamFor, callTimeoutMs }];
    }),
  );
}

/** Nobody calls who came with a token. */
const NO_CALLERS: Pick<Callers, "tokenOf"> = { tokenOf: () => undefined };

/**
 * The logins at the remote servers of a configuration. The OAuth code is loaded when a server first asks for a token.
 *
 * @param secrets reads those of the configuration, and learns every token before it is used.
 * @param onLogin receives what happens to logins here.
 * @param callers has the tokens with which principals call.
 */
export function composeAuthorizations(
  { servers }: Configuration,
  store: LoginStore,
  secrets: LoginSecrets,
  onLogin?: OnLogin,
  callers: Pick<Callers, "tokenOf"> = NO_CALLERS,
): (principal: string, server: string) => Authorization | undefined {
  const onSecret = (secret: string) => secrets.onSecret(secret);
  const tellToken = (principal: string, server: string) => (reason?: string) =>
    onLogin?.({ principal, server, event: reason === undefined ? "machine_token" : "failed", reason });
  return (principal, name) => {
    const server = servers.find((each) => each.name === name);
    if (server === undefined || !isRemote(server) || server.auth === undefined) return undefined;
    const { auth: settings, url: serverUrl } = server;
    const otherwise = () => ownAuthorization(principal, server, settings);
    if (settings.exchange === undefined && settings.assertion === undefined) return otherwise();
    const caller = new CallerLogin({
      subject: () => callers.tokenOf(principal),
      async fetch(subject, wanted) {
        const { exchangeToken, assertIdentity } = await import(
          "../../upstream/authorization/oauth/caller-token.ts"
        );
        const asked = { serverUrl, subject, ...wanted, clock };
        const filled = async <T extends { clientSecret: ConfiguredSecret | undefined }>(client: T) => ({
          ...client,
          clientSecret: await readAuthSecret(client.clientSecret, secrets),
        });
        if (settings.exchange !== undefined)
          return exchangeToken(await filled(settings.exchange), settings.scope, asked);
        if (settings.assertion === undefined) throw new Error("nothing says how the token is exchanged");
        return assertIdentity(await filled(settings), await filled(settings.assertion), asked);
      },
      onSecret,
      clock,
      onToken: tellToken(principal, name),
    });
    return new CallerOrElse(caller, otherwise());
  };

  function ownAuthorization(
    principal: string,
    server: RemoteServer,
    settings: NonNullable<RemoteServer["auth"]>,
  ): Authorization | undefined {
    const { name, url: serverUrl } = server;
    if (settings.type === "caller") return undefined;
    if (settings.type === "client_credentials") {
      return new MachineLogin({
        async fetch(wanted) {
          const { fetchMachineToken } = await import("../../upstream/authorization/oauth/machine-token.ts");
          const [clientSecret, privateKey] = await Promise.all([
            readAuthSecret(settings.clientSecret, secrets),
            readAuthSecret(settings.privateKey, secrets),
          ]);
          const filled = { ...settings, clientSecret, privateKey };
          return fetchMachineToken({ serverUrl, settings: filled, ...wanted, clock });
        },
        onSecret,
        clock,
        onToken: tellToken(principal, name),
      });
    }
    return new StoredLogin({
      key: loginKeyOf(principal, server),
      store,
      async refresh(login, signal) {
        // The configuration now names another authorization server than the login.
        if (settings.issuer !== undefined && !isSameIssuer(settings.issuer, login.issuer)) return undefined;
        const { refreshLogin } = await import("../../upstream/authorization/oauth/login-tokens.ts");
        // A configured secret may have changed since the login. Only the login holds the secret of a registration.
        const secret =
          login.client.kind === "configured"
            ? await readAuthSecret(settings.clientSecret, secrets, signal)
            : login.client.secret;
        return refreshLogin({ ...login, client: { ...login.client, secret } }, clock, signal);
      },
      async offersLogin(challenge: Challenge, signal) {
        if (challenge.isOfTokens || !settings.isDefault) return true;
        const { offersLogin } = await import("../../upstream/authorization/oauth/authorization-server.ts");
        return offersLogin(serverUrl, challenge, signal);
      },
      onSecret,
      clock,
      onLogin,
    });
  }
}
