/**
 * A rule that somebody supposes, to see what it would decide: rules of Cedar, or `tools` and `approvals` in the form of ptc.yaml. It is
 * added to what is configured, in memory alone.
 */
import * as z from "zod";
import type { Clock } from "../../base/clock.ts";
import { oneLine } from "../../base/visible-text.ts";
import { readRules } from "../../broker/policy/cedar/rule-set.ts";
import type { Policy } from "../../broker/policy/policy.ts";
import type { RuleAuthorizer } from "../../broker/policy/rule-authorizer.ts";
import type { ToolCatalog } from "../../catalog/tool-catalog.ts";
import { matchesPattern } from "../../protocol/tool-names.ts";
import type { Configuration } from "../configuration.ts";
import { ConfigurationError } from "../configuration-error.ts";
import { YamlSource } from "../yaml-source.ts";
import { buildRuleAuthorizer } from "./build-rules.ts";
import { listsOf } from "./configured-policy.ts";

/** What would decide with the supposed rule, and what decides without it. Both take the time from the same clock. */
export interface Supposed {
  readonly before: RuleAuthorizer;
  readonly after: RuleAuthorizer;
  /** What is to be known of the rule, one line each. */
  readonly notes: readonly string[];
}

/** The name of the text in messages. */
const FILE = "the rule";
const MAX_CHARS = 32 * 1024;

/** What of a configuration decides about calls. */
export type DecidingConfiguration = Pick<
  Configuration,
  "file" | "directory" | "tools" | "approvals" | "labels" | "lists" | "policy" | "managed" | "sandbox"
> & { readonly servers: readonly Pick<Configuration["servers"][number], "name" | "flow">[] };

/**
 * @param all every tool, including those that no program may call.
 * @param where `isApart` where this is done in a thread that can be ended, which then decides all by itself.
 * @throws ConfigurationError in one line for a text that is no rule, and for a configuration with invalid rules.
 */
export async function supposeRule(
  configuration: DecidingConfiguration,
  all: Pick<ToolCatalog, "names">,
  text: string,
  clock: Pick<Clock, "wallMs">,
  { isApart = false } = {},
): Promise<Supposed> {
  const how = { isNoted: false, isApart };
  if (text.length > MAX_CHARS) throw wrong(`is longer than ${MAX_CHARS} characters`);
  const lists = listsOf(configuration);
  const before = await buildRuleAuthorizer(configuration, lists, clock, how);
  const withoutComments = text.replaceAll(/\/\/.*/g, "");
  if (/\b(?:permit|forbid)\s*\(/.test(withoutComments)) {
    const files = [...configuration.policy.files, { file: FILE, path: FILE, text }];
    const policy = { ...configuration.policy, files };
    const after = await buildRuleAuthorizer({ ...configuration, policy }, lists, clock, how);
    const isPermitting = readRules(files).some(({ effect }) => effect === "permit");
    const notes = isPermitting
      ? []
      : [
          "no rule permits anything, so that every call would be denied; add `permit (principal, action, resource);`",
        ];
    return { before, after, notes };
  }
  const { tools = {}, approvals = {} } = parseLists(text);
  const policy: Policy = {
    ...lists,
    allow: tools.allow === undefined ? lists.allow : [...(lists.allow ?? []), ...tools.allow],
    block: [...lists.block, ...(tools.block ?? [])],
    ask: [...lists.ask, ...(approvals.ask ?? [])],
    neverAsk: [...lists.neverAsk, ...(approvals.allow ?? [])],
    byDefault: approvals.default ?? lists.byDefault,
  };
  const after = await buildRuleAuthorizer(configuration, policy, clock, how);
  const names = all.names();
  const patterns = [tools.allow, tools.block, approvals.ask, approvals.allow].flatMap((each) => each ?? []);
  const notes = patterns
    .filter((pattern) => !names.some((name) => matchesPattern(pattern, name)))
    .map((pattern) => `'${oneLine(pattern, 120)}' matches no tool that is known`);
  return { before, after, notes };
}

const Patterns = z.array(z.string().min(1).max(512)).max(1_000);
const Lists = z.strictObject({
  tools: z.strictObject({ allow: Patterns.optional(), block: Patterns.optional() }).optional(),
  approvals: z
    .strictObject({
      ask: Patterns.optional(),
      allow: Patterns.optional(),
      default: z.enum(["annotated", "destructive"]).optional(),
    })
    .optional(),
});

function parseLists(text: string): z.infer<typeof Lists> {
  const source = YamlSource.parse(text);
  if (!(source instanceof YamlSource)) throw wrong(source.message, source.line);
  if (typeof source.value !== "object" || source.value === null)
    throw wrong("is neither a rule of Cedar (permit, forbid) nor `tools` or `approvals` as in ptc.yaml");
  const parsed = Lists.safeParse(source.value);
  if (parsed.success && (parsed.data.tools ?? parsed.data.approvals) !== undefined) return parsed.data;
  const [issue] = parsed.error?.issues ?? [];
  if (issue === undefined) throw wrong("has neither `tools` nor `approvals`");
  const keys = issue.code === "unrecognized_keys" ? [...issue.path, ...issue.keys.slice(0, 1)] : issue.path;
  const where = keys.map(String).join(".");
  throw wrong(`${where === "" ? "the text" : oneLine(where, 120)}: ${issue.message}`, source.lineOf(keys));
}

function wrong(why: string, line?: number): ConfigurationError {
  return new ConfigurationError("invalid", line === undefined ? `${FILE} ${why}` : `${FILE}:${line}: ${why}`);
}
