import { jsonLine } from "../../base/json.ts";
import { countNoun } from "../../base/quantities.ts";
import { visibleLine } from "../../base/visible-text.ts";
import type { Project } from "../../project/open-project.ts";
import type { Surroundings } from "../../project/surroundings.ts";
import { createToken, KNOWN_SCOPES, listTokens, parseScopes, revokeToken } from "../../project/tokens.ts";
import {
  CONFIG,
  type CommonFlags,
  collect,
  defineGroup,
  EXIT,
  type ExitCode,
  tell,
  UsageError,
  write,
} from "../command.ts";
import { defineProjectCommand } from "../project-command.ts";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MAX_DAYS = 3_650;
const MAX_GROUP_CHARS = 256;
const MAX_GROUPS = 100;

interface CreateFlags extends CommonFlags {
  group: string[];
  scope: string[];
  toolset: string[];
  expires: string;
}

/** `ptc token create|list|revoke`: tokens for agents that no issuer knows, for `ptc serve --http`. */
export const tokenCommand = defineGroup(
  "token",
  () => [defineCreate, defineList, defineRevoke],
  (command) =>
    command
      .description("make and revoke tokens for agents in CI, for `ptc serve --http`")
      .addHelpText("after", "\nExample:\n  ptc token create deploy --group ci --expires 90d\n"),
);

const defineCreate = defineProjectCommand("create", create, (command) =>
  command
    .description("make a token and print it once; ptc keeps only its digest")
    .argument("<name>", "what it is for; its runs are those of the principal token#NAME")
    .option("--group <group>", "a group for rules; may be given several times", collect, [])
    .option("--scope <scope>", `one of ${KNOWN_SCOPES}; by default ptc:run`, collect, [])
    .option(
      "--toolset <name>",
      "a toolset that the token is narrowed to (repeatable); of several it has what is in each",
      collect,
      [],
    )
    .option("--expires <when>", "how long it is valid: 12h, 90d", "90d")
    .option(...CONFIG)
    .option("--json", "print it with what is known of it, as JSON")
    .addHelpText("after", "\nExample:\n  ptc token create nightly --group ci | gh secret set PTC_TOKEN\n"),
);

async function create(
  project: Project,
  name: string,
  flags: CreateFlags,
  { stdout, stderr }: Surroundings,
): Promise<ExitCode> {
  const groups = [...new Set(flags.group)];
  if (
    groups.length > MAX_GROUPS ||
    groups.some((group) => group.trim() === "" || group.length > MAX_GROUP_CHARS)
  )
    throw new UsageError(`--group: at most ${MAX_GROUPS} groups, each of 1 to ${MAX_GROUP_CHARS} characters`);
  const scopes = parseScopes("--scope", flags.scope);
  const expiresAt = Date.now() + parseDuration(flags.expires);
  const toolsets = [...new Set(flags.toolset)];
  const { token, principal } = await createToken(project, name, { groups, scopes, expiresAt, toolsets });
  const known = { name, principal, groups, scopes, toolsets, expires_at: instant(expiresAt) };
  await write(stdout, flags.json ? `${jsonLine({ token, ...known })}\n` : `${token}\n`);
  await tell(
    stderr,
    `token '${name}' counts until ${known.expires_at}; it is shown this once, and its runs are those of ${known.principal}`,
  );
  if (project.configuration.http.auth?.tokens !== true)
    await tell(stderr, "`ptc serve --http` takes tokens only with `http: { auth: { tokens: true } }`");
  return EXIT.done;
}

/** Hours or days, in milliseconds. @throws UsageError */
function parseDuration(text: string): number {
  const [, digits = "", unit] = /^(\d{1,6})([hd])$/.exec(text) ?? [];
  const duration = Number(digits) * (unit === "h" ? HOUR_MS : DAY_MS);
  if (duration > 0 && duration <= MAX_DAYS * DAY_MS) return duration;
  throw new UsageError(
    `--expires: '${visibleLine(text)}' is not a time from 1h to ${MAX_DAYS}d, such as 90d`,
  );
}

const defineList = defineProjectCommand("list", list, (command) =>
  command
    .description("list the tokens that were made, without the tokens themselves")
    .option(...CONFIG)
    .option("--json", "print them as JSON")
    .addHelpText("after", "\nExample:\n  ptc token list --json | jq -r '.[].name'\n"),
);

async function list(
  project: Project,
  flags: CommonFlags,
  { stdout, stderr }: Surroundings,
): Promise<ExitCode> {
  const found = (await listTokens(project)).map(({ createdAt, expiresAt, ...known }) => ({
    ...known,
    created_at: instant(createdAt),
    expires_at: instant(expiresAt),
    has_expired: expiresAt <= Date.now(),
  }));
  const lines = found.map(({ name, owner, groups, scopes, toolsets, expires_at, has_expired }) => {
    const of =
      groups.length === 0
        ? ""
        : `, of ${countNoun(groups.length, "group")}: ${groups.map(visibleLine).join(", ")}`;
    const whose = owner === null ? "" : `, of ${visibleLine(owner)}`;
    const narrow = toolsets.length === 0 ? "" : `, toolset ${toolsets.map(visibleLine).join(" and ")}`;
    return `${name}: ${scopes.join(" ")}${whose}${of}${narrow}, ${has_expired ? "has expired" : "expires"} ${expires_at}`;
  });
  if (flags.json) await write(stdout, `${jsonLine(found)}\n`);
  else if (lines.length > 0) await write(stdout, `${lines.join("\n")}\n`);
  else await tell(stderr, "there are no tokens; `ptc token create NAME` makes one");
  return EXIT.done;
}

const defineRevoke = defineProjectCommand("revoke", revoke, (command) =>
  command
    .description("revoke a token; every ptc refuses it within seconds")
    .argument("<name>", "its name")
    .option("--owner <principal>", "its owner, for a token that a person made in the console")
    .option(...CONFIG)
    .addHelpText("after", "\nExample:\n  ptc token revoke nightly\n"),
);

async function revoke(
  project: Project,
  name: string,
  flags: CommonFlags & { owner?: string },
  { stderr }: Surroundings,
): Promise<ExitCode> {
  await revokeToken(project, name, flags.owner);
  await tell(stderr, `token '${visibleLine(name)}' is revoked`);
  return EXIT.done;
}

function instant(ms: number): string {
  return new Date(ms).toISOString();
}
