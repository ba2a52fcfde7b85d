import type { Problem } from "./configuration-error.ts";
import type { InterceptorEntry } from "./settings/interceptor-settings.ts";
import type { ReviewerEntry } from "./settings/settings.ts";

type Entry = Pick<InterceptorEntry, "name" | "on" | "url" | "secret" | "command">;

/** Problems of `interceptors` and of `approvals.reviewer`, whose keys and types are valid by the schema. */
export function findInterceptorProblems(
  entries: readonly Entry[],
  { reviewer, require = "any" }: { reviewer?: ReviewerEntry | undefined; require?: string | undefined },
): Problem[] {
  return [...findEntryProblems(entries, reviewer), ...findReviewerProblems(entries, reviewer, require)];
}

function findReviewerProblems(
  entries: readonly Pick<InterceptorEntry, "name" | "on">[],
  reviewer: ReviewerEntry | undefined,
  required: string,
): Problem[] {
  if (reviewer === undefined) return [];
  const path = ["approvals", "reviewer"];
  if (required !== "any")
    return [{ path, message: `has no effect with \`require: ${required}\`; remove one of the two` }];
  if (entries.some(({ name, on }) => name === reviewer.by && on.includes("question"))) return [];
  const message = `names no interceptor that is asked questions; add one with \`name: ${reviewer.by}\` and \`on: [question]\``;
  return [{ path: [...path, "by"], message }];
}

function findEntryProblems(entries: readonly Entry[], reviewer: ReviewerEntry | undefined): Problem[] {
  return entries.flatMap(({ name, on, url, secret, command }, index) => {
    const problem = (message: string, ...key: string[]) => [
      { path: ["interceptors", index, ...key], message },
    ];
    if (entries.findIndex((each) => each.name === name) < index) return problem("stands twice", "name");
    if ((url === undefined) === (command === undefined)) return problem("needs either `url` or `command`");
    if (url !== undefined && secret === undefined)
      return problem("needs `secret` beside it, by which whoever is asked knows that ptc asks", "url");
    if (url === undefined && secret !== undefined) return problem("signs nothing without `url`", "secret");
    if (on.includes("question") && reviewer?.by !== name)
      return problem(
        "has `question`, which is only for the interceptor that approvals.reviewer.by names",
        "on",
      );
    return [];
  });
}
