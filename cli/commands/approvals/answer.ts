import { userInfo } from "node:os";
import { jsonLine } from "../../../base/json/json-line.ts";
import type { ApprovalAnswer } from "../../../broker/approvals/approvals.ts";
import { MAX_PATTERN_CHARS, MAX_PATTERN_MEMBERS } from "../../../broker/approvals/argument-pattern.ts";
import type { PendingApproval } from "../../../host/approvals/pending-approvals.ts";
import type { DefineCommand } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-code.ts";
import { LOCAL_USER } from "../../local-user.ts";
import { type Surroundings, write } from "../../surroundings.ts";
import { findPending } from "./find-pending.ts";
import { withApprovals } from "./open-approvals.ts";
import { renderPending } from "./render-pending.ts";

const MAX_CALLS = 1_000_000;
const HOW = "ptc approvals";

interface AnswerFlags {
  config?: string;
  json?: boolean;
  allCalls?: boolean;
  like?: string[];
  atMost?: string;
}

/** `ptc approvals approve` and `ptc approvals deny` */
export const defineAnswers: DefineCommand = (approvals, surroundings, finish) => {
  approvals
    .command("approve")
    .description(
      "approve the call that a run waits for; the run goes on when its client or `ptc run --ticket` asks for it",
    )
    .argument("<ticket>", "its ticket, or the beginning of it")
    .option("--all-calls", "also all further calls of this tool in this run")
    .option(
      "--like <name=pattern>",
      "also further calls with the same arguments, but for this one, which may be anything that matches (repeatable; * is a wildcard)",
      (value: string, previous: string[]) => [...previous, value],
      [],
    )
    .option("--at-most <calls>", "with --all-calls or --like: so many calls, this one among them")
    .option("--config <file>", "configuration file")
    .option("--json", "print what came of it as JSON")
    .addHelpText("after", "\nExample:\n  ptc approvals approve 3f9a2c --like 'path=/tmp/*' --at-most 20\n")
    .action(async (ticket: string, flags: AnswerFlags) => {
      const given = parseScope(flags);
      finish(await answer(ticket, (pending) => scopeFor(pending, given), flags, surroundings));
    });
  approvals
    .command("deny")
    .description("deny the call that a run waits for; its program is told so when it goes on")
    .argument("<ticket>", "its ticket, or the beginning of it")
    .option("--config <file>", "configuration file")
    .option("--json", "print what came of it as JSON")
    .addHelpText("after", "\nExample:\n  ptc approvals deny 3f9a2c\n")
    .action(async (ticket: string, flags: AnswerFlags) => {
      finish(await answer(ticket, () => ({ decision: "denied" }), flags, surroundings));
    });
};

type Scope = Pick<ApprovalAnswer, "decision" | "except" | "atMost">;

async function answer(
  beginning: string,
  scopeOf: (pending: PendingApproval) => Scope,
  flags: AnswerFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { stdout, stderr } = surroundings;
  return withApprovals(flags, surroundings, async (approvals) => {
    const pending = findPending(approvals, beginning);
    const scope = scopeOf(pending);
    const isFirst = approvals.answer(LOCAL_USER.principal, pending, { ...scope, by: userName(), how: HOW });
    const { ticket } = pending;
    if (flags.json === true) {
      await write(stdout, `${jsonLine({ ticket, decision: scope.decision, counts: isFirst })}\n`);
    } else if (isFirst) {
      await write(stdout, renderPending({ ...pending, isAnswered: true }));
      await write(
        stderr,
        `ptc: ${scope.decision === "denied" ? "denied" : "approved"}; \`ptc run --ticket ${ticket}\` goes on with the run, or its client does\n`,
      );
    }
    if (isFirst) return EXIT.done;
    await write(stderr, `ptc: ${ticket} was answered before, and the first answer counts\n`);
    return EXIT.failed;
  });
}

function parseScope({ allCalls, like = [], atMost }: AnswerFlags): Scope {
  if (allCalls === true && like.length > 0) throw new UsageError("--all-calls and --like do not go together");
  if (allCalls !== true && like.length === 0) {
    if (atMost !== undefined) throw new UsageError("--at-most goes with --all-calls or --like");
    return { decision: "once" };
  }
  if (like.length > MAX_PATTERN_MEMBERS)
    throw new UsageError(`--like: at most ${MAX_PATTERN_MEMBERS} arguments may differ`);
  const bound = atMost === undefined ? {} : { atMost: parseCount(atMost) };
  if (like.length === 0) return { decision: "run", ...bound };
  return { decision: "run", except: Object.fromEntries(like.map(parsePattern)), ...bound };
}

function parsePattern(text: string): [string, string] {
  const at = text.indexOf("=");
  if (at > 0 && text.length <= MAX_PATTERN_CHARS) return [text.slice(0, at), text.slice(at + 1)];
  throw new UsageError(`--like: '${text.slice(0, 40)}' is not an argument's name, \`=\` and a pattern`);
}

function parseCount(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= MAX_CALLS) return count;
  throw new UsageError(`--at-most: '${text.slice(0, 40)}' is not a whole number from 1 to ${MAX_CALLS}`);
}

/** @throws UsageError for an argument that the call does not have. */
function scopeFor({ request }: PendingApproval, scope: Scope): Scope {
  const names = Object.keys((request.arguments ?? {}) as object);
  for (const name of Object.keys(scope.except ?? {})) {
    if (!names.includes(name))
      throw new UsageError(
        `--like: the call has no argument '${name.slice(0, 40)}'; it has ${names.join(", ").slice(0, 300)}`,
      );
  }
  return scope;
}

/** Who answers, as the system knows them. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return "local";
  }
}
