import { jsonLine } from "../../../base/json/json-line.ts";
import { type ApprovalScope, DEFAULT_AT_MOST, parseScope } from "../../../broker/approvals/approval-scope.ts";
import { NOT_TYPED } from "../../../broker/approvals/approvals.ts";
import type { PendingApproval } from "../../../host/approvals/pending-approvals.ts";
import type { DefineCommand } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-code.ts";
import { LOCAL_USER, localUserName } from "../../local-user.ts";
import { type Surroundings, write } from "../../surroundings.ts";
import { confirmByTyping, openOwnTerminal } from "../../terminal/own-terminal.ts";
import { findPending } from "./find-pending.ts";
import { withApprovals } from "./open-approvals.ts";
import { renderPending } from "./render-pending.ts";

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
      "approve the call that a run waits for; it goes on at once, or where it was suspended, when its client or `ptc run --ticket` asks for it",
    )
    .argument("<ticket>", "its ticket, or the beginning of it")
    .option("--all-calls", "also all further calls of this tool in this run")
    .option(
      "--like <name=pattern>",
      "also further calls with the same arguments, but for this one, which may be anything that matches (repeatable; * is a wildcard)",
      (value: string, previous: string[]) => [...previous, value],
      [],
    )
    .option(
      "--at-most <calls>",
      `with --all-calls or --like: so many calls, this one among them (default: ${DEFAULT_AT_MOST})`,
    )
    .option("--config <file>", "configuration file")
    .option("--json", "print what came of it as JSON")
    .addHelpText("after", "\nExample:\n  ptc approvals approve 3f9a2c --like 'path=/tmp/*' --at-most 20\n")
    .action(async (ticket: string, flags: AnswerFlags) => {
      finish(await answer(ticket, chooseScope(flags), flags, surroundings));
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

async function answer(
  beginning: string,
  scopeOf: (pending: PendingApproval) => ApprovalScope,
  flags: AnswerFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { stdout, stderr } = surroundings;
  return withApprovals(flags, surroundings, async (approvals, { require }) => {
    const pending = findPending(approvals, beginning);
    const scope = scopeOf(pending);
    const isTyped = scope.decision !== "denied" && require === "terminal";
    if (isTyped && !(await approveByTyping(pending, surroundings))) {
      await write(stderr, `ptc: ${pending.ticket} was not approved, and waits as before\n`);
      return EXIT.failed;
    }
    const isFirst = approvals.answer(LOCAL_USER.principal, pending, {
      ...scope,
      by: localUserName(),
      how: HOW,
      ...(isTyped ? { isTyped } : {}),
    });
    const { ticket } = pending;
    if (flags.json === true) {
      await write(stdout, `${jsonLine({ ticket, decision: scope.decision, counts: isFirst })}\n`);
    } else if (isFirst) {
      await write(stdout, renderPending({ ...pending, isAnswered: true }));
      const next = pending.isLive
        ? "its run goes on"
        : `\`ptc run --ticket ${ticket}\` goes on with the run, or its client does`;
      await write(stderr, `ptc: ${scope.decision === "denied" ? "denied" : "approved"}; ${next}\n`);
    }
    if (isFirst) return EXIT.done;
    await write(stderr, `ptc: ${ticket} was answered before, and the first answer counts\n`);
    return EXIT.failed;
  });
}

/** Shows a call at the terminal of this process and has its approval typed there. @throws UsageError where there is no terminal. */
async function approveByTyping(pending: PendingApproval, surroundings: Surroundings): Promise<boolean> {
  const own = openOwnTerminal(surroundings);
  if (own === undefined) throw new UsageError(`approve: ${NOT_TYPED}, and there is none here`);
  try {
    await write(own.surroundings.stderr, renderPending(pending));
    return await confirmByTyping(own, () => {}, new AbortController().signal);
  } finally {
    own.close();
  }
}

/** What the flags say, for a call. @throws UsageError now or then, where they say nothing that can be. */
function chooseScope({
  allCalls,
  like = [],
  atMost,
}: AnswerFlags): (pending: PendingApproval) => ApprovalScope {
  if (allCalls === true && like.length > 0) throw new UsageError("--all-calls and --like do not go together");
  if (allCalls !== true && like.length === 0) {
    if (atMost !== undefined) throw new UsageError("--at-most goes with --all-calls or --like");
    return () => ({ decision: "once" });
  }
  return ({ request }) => {
    const calls = allCalls === true ? "all" : "like";
    const read = parseScope({ calls, except: like, atMost }, request.arguments);
    if (read.ok) return read.scope;
    throw new UsageError(`--${read.of}: ${read.why}`);
  };
}
