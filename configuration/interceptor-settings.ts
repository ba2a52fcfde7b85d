import type { InterceptorSettings } from "./configuration.ts";
import type { Problem } from "./configuration-error.ts";
import { type EntrySurroundings, secretOf } from "./outside-values.ts";
import type { InterceptorEntry } from "./settings/interceptor-settings.ts";

/** Problems of `interceptors`, whose keys and types are valid by the schema. */
export function findInterceptorProblems(entries: readonly InterceptorEntry[]): Problem[] {
  return entries.flatMap(({ name, url, secret, command }, index) => {
    const problem = (message: string, ...key: string[]) => [
      { path: ["interceptors", index, ...key], message },
    ];
    if (entries.findIndex((each) => each.name === name) < index) return problem("stands twice", "name");
    if ((url === undefined) === (command === undefined)) return problem("needs either `url` or `command`");
    if (url !== undefined && secret === undefined)
      return problem("needs `secret` beside it, by which whoever is asked knows that ptc asks", "url");
    if (url === undefined && secret !== undefined) return problem("signs nothing without `url`", "secret");
    return [];
  });
}

export function buildInterceptors(
  entries: readonly InterceptorEntry[],
  surroundings: EntrySurroundings,
): InterceptorSettings[] {
  return entries.map(({ name, on, tools, url, secret, command, timeout_seconds, fail }, index) => {
    const path = ["interceptors", index];
    const [program, ...args] = command ?? [];
    const off = surroundings.offOf(path);
    return {
      name,
      on,
      tools,
      timeoutMs: timeout_seconds * 1_000,
      failsOpen: fail === "open",
      url: secretOf(url, [...path, "url"], surroundings),
      secret: secretOf(secret, [...path, "secret"], surroundings),
      command: program === undefined ? undefined : [program, ...args],
      cwd: surroundings.directory,
      ...(off === undefined ? {} : { off }),
    };
  });
}

/** The secrets that stand in the settings themselves. */
export function interceptorSecrets(settings: readonly InterceptorSettings[]): string[] {
  return settings.flatMap(({ url, secret }) => [url, secret]).filter((each) => typeof each === "string");
}
