/**
 * What clients read of servers whose tools they are given directly: URIs, names of prompts, and `_meta`. Each says whose it is, so
 * that two servers never meet, and no server can name what is another's or ptc's.
 */
import { isObject } from "../base/json.ts";
import { visibleLine, visibleLines } from "../base/visible-text.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { namespacedName, parseNamespacedName } from "../protocol/tool-names.ts";

/** What a client may be given of a server. */
export interface ClientView {
  /** The server's module, which stands in every URI and name. */
  readonly module: string;
  /** Whether the server's views of apps (MCP Apps, `ui://`) are passed on. */
  readonly apps: boolean;
}

/** Hosts of apps recognize a view by this scheme. */
const VIEW = "ui://";
const OTHER = "mcp://";

/**
 * The URI by which a client reads a resource of a server: `mcp://<module>/<uri>`, and `ui://<module>/...` for a view. A URI template
 * stays one.
 */
export function clientUri(module: string, uri: string): string {
  return uri.startsWith(VIEW) ? `${VIEW}${module}/${uri.slice(VIEW.length)}` : `${OTHER}${module}/${uri}`;
}

/** The module and the server's own URI behind a client's; `undefined` for a URI that `clientUri` gives to nothing. */
export function serverUri(uri: string): { module: string; uri: string } | undefined {
  const [, scheme, module, rest] = /^(mcp:\/\/|ui:\/\/)([a-z0-9_]+)\/(.+)$/s.exec(uri) ?? [];
  if (module === undefined || rest === undefined) return undefined;
  return { module, uri: scheme === VIEW ? `${VIEW}${rest}` : rest };
}

/** Whether a server's own URI is that of a view of an app. */
export function isView(uri: unknown): boolean {
  return typeof uri === "string" && uri.startsWith(VIEW);
}

/** The name by which a client gets a prompt of a server. */
export function clientPrompt(module: string, prompt: string): string {
  return namespacedName(module, prompt);
}

/** The module and the server's own name behind a client's name of a prompt. */
export function serverPrompt(name: string): { module: string; prompt: string } | undefined {
  const parsed = parseNamespacedName(name);
  return parsed && { module: parsed.module, prompt: parsed.tool };
}

/** Keys of `_meta` that only ptc, and the protocol between ptc and its client, may say. */
const OF_OTHERS = /^(?:ptc\/|io\.modelcontextprotocol\/|modelcontextprotocol\.io\/)|^progressToken$/;

/**
 * A server's `_meta` for a client: addresses of views name the server, and everything else is unchanged, such as the hints of an app on
 * content security. Keys that are ptc's or the protocol's are left out, and without apps those of views.
 */
export function clientMeta(meta: unknown, view: ClientView): Record<string, unknown> | undefined {
  if (!isObject(meta)) return undefined;
  const kept = Object.entries(meta).filter(
    ([key, value]) => !OF_OTHERS.test(key) && (view.apps || !isOfView(key, value)),
  );
  if (kept.length === 0) return undefined;
  return withViews(Object.fromEntries(kept), view.module) as Record<string, unknown>;
}

function isOfView(key: string, value: unknown): boolean {
  return key === "ui" || key.startsWith("ui/") || namesView(value);
}

function namesView(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return isView(value);
  return Object.values(value).some(namesView);
}

function withViews(value: unknown, module: string): unknown {
  if (typeof value === "string") return isView(value) ? clientUri(module, value) : value;
  if (Array.isArray(value)) return value.map((each) => withViews(each, module));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withViews(each, module)]));
}

/** Whether a tool is for the views of its server's apps alone (MCP Apps, `_meta.ui.visibility`). */
export function isForViewsAlone(meta: unknown): boolean {
  const ui = isObject(meta) ? meta.ui : undefined;
  const visibility = isObject(ui) ? ui.visibility : undefined;
  return Array.isArray(visibility) && !visibility.includes("model");
}

/** The icons that a client may load: over https, or in the URI itself (MCP 2025-11-25, "Icons"). */
export function clientIcons(icons: unknown): Record<string, unknown>[] | undefined {
  if (!Array.isArray(icons)) return undefined;
  const safe = icons.filter(
    (icon): icon is Record<string, unknown> =>
      isObject(icon) && typeof icon.src === "string" && /^(?:https:\/\/|data:image\/)/i.test(icon.src),
  );
  return safe.length === 0 ? undefined : safe;
}

type Members = Record<string, unknown>;

/**
 * What people and models read of something that a server lists, with hidden characters made visible, and its `icons` and `_meta` as a
 * client may have them. All other members are unchanged.
 */
export function clientListed(listed: Members, view: ClientView): Members {
  const { title, description, icons: given, _meta: meta, ...rest } = listed;
  const icons = clientIcons(given);
  const _meta = clientMeta(meta, view);
  return {
    ...rest,
    ...(typeof title === "string" ? { title: visibleLine(title) } : {}),
    ...(typeof description === "string" ? { description: visibleLines(description) } : {}),
    ...(icons === undefined ? {} : { icons }),
    ...(_meta === undefined ? {} : { _meta }),
  };
}

/** A content block, or the contents of a resource, of a server: its URIs and `_meta` as its client reads them. */
export function clientBlock(block: unknown, view: ClientView): unknown {
  if (!isObject(block)) return block;
  const { uri, resource, ...rest } = block;
  return {
    ...clientListed(rest, view),
    ...(uri === undefined ? {} : { uri: typeof uri === "string" ? clientUri(view.module, uri) : uri }),
    ...(resource === undefined ? {} : { resource: clientBlock(resource, view) }),
  };
}

/** What a client may be given of each server, by module; `undefined` where clients are given no more than tools. */
export function clientViews({
  discovery,
  servers,
}: Pick<Configuration, "discovery" | "servers">): ReadonlyMap<string, ClientView> | undefined {
  if (discovery !== "direct") return undefined;
  return new Map(servers.map(({ module, apps = true }) => [module, { module, apps }]));
}
