import type { InterceptorSettings } from "./configuration.ts";
import { type EntrySurroundings, secretOf } from "./outside-values.ts";
import type { InterceptorEntry, ManagedInterceptor } from "./settings/interceptor-settings.ts";

/** What the audit log calls an interceptor. One of a project cannot take the name of a managed one. */
export function interceptorRule(name: string, isManaged: boolean): string {
  return `${isManaged ? "managed " : ""}interceptors.${name}`;
}

/** Whether an interceptor answered a call in the place of a person, by the `approver` of the call. */
export function isByReviewer(approver: string | undefined): boolean {
  return approver !== undefined && /^(?:managed )?interceptors\./.test(approver);
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

/** The interceptors of managed settings. Nothing of a project or of its environment is read for them. */
export function buildManagedInterceptors(entries: readonly ManagedInterceptor[]): InterceptorSettings[] {
  return entries.map(({ name, on, tools, url, secret, command, timeout_seconds, fail }) => {
    const [program, ...args] = command ?? [];
    return {
      name,
      on,
      tools,
      url,
      secret,
      timeoutMs: timeout_seconds * 1_000,
      failsOpen: fail === "open",
      command: program === undefined ? undefined : [program, ...args],
      cwd: "/",
      isManaged: true,
    };
  });
}

/** The secrets that stand in the settings themselves. */
export function interceptorSecrets(settings: readonly InterceptorSettings[]): string[] {
  return settings.flatMap(({ url, secret }) => [url, secret]).filter((each) => typeof each === "string");
}
