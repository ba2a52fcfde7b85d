import type { FaultFacts } from "../upstream-faults.ts";

/**
 * A way to connect to a server. The `legacy` routes skip the request that asks for protocol versions, because some servers
 * of the older era do not survive it.
 */
export type Route = "stdio" | "stdio-legacy" | "http" | "http-legacy" | "sse";

/** Whether a route is for servers of the era before protocol versions were asked for. */
export function isLegacy(route: Route): boolean {
  return route === "stdio-legacy" || route === "http-legacy" || route === "sse";
}

/** The route to try after a failure of this one; `undefined` when no other is likely to work. */
export function nextRoute(route: Route, { kind, status }: FaultFacts): Route | undefined {
  if (kind === "login" || kind === "token") return undefined;
  const negotiation = kind === "negotiation" || (kind === "http" && (status ?? 0) >= 500);
  switch (route) {
    case "stdio":
      return negotiation || kind === "closed" ? "stdio-legacy" : undefined;
    case "http":
    case "http-legacy":
      if (status === 400 || status === 404 || status === 405) return "sse";
      return route === "http" && negotiation ? "http-legacy" : undefined;
    case "sse":
      return kind === "network" ? undefined : "http";
    default:
      return undefined;
  }
}
