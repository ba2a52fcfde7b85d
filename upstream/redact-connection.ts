import { Redactor } from "../secrets/redaction.ts";
import type { OnCallProgress, UpstreamConnection } from "./upstream.ts";

export interface ConnectionSecrets {
  /** Redacts listings. Definitions are shown to models and written to shared files, and a server may quote its configuration in them. */
  redactor: Pick<Redactor, "redactValue">;
  /** The credentials with which the connection was made. */
  known: readonly string[];
  /** Credentials added since then, such as a renewed token; by default those that the connection reports. */
  current?: (() => readonly string[]) | undefined;
}

/** How long a listing is redacted in one go, in milliseconds. */
const TURN_MS = 10;

/**
 * Wraps a connection so that its listings contain no secrets, and its answers do not show programs the credentials that ptc uses for
 * the server. Nothing else in an answer changes: programs may work with secrets that are the server's data.
 */
export function redactConnection(
  connection: UpstreamConnection,
  { redactor, known, current = connection.secrets?.bind(connection) }: ConnectionSecrets,
): UpstreamConnection {
  const mask = known.length === 0 && current === undefined ? undefined : credentialMask(known, current);
  return {
    async list(signal) {
      const listing = await connection.list(signal);
      const tools: unknown[] = [];
      let turn = performance.now();
      for (const tool of listing.tools) {
        tools.push(redactor.redactValue(tool).value);
        if (performance.now() - turn < TURN_MS) continue;
        // A server may list megabytes, and others have their turn meanwhile.
        await new Promise((resolve) => setImmediate(resolve));
        turn = performance.now();
      }
      return { ...listing, tools };
    },
    async callTool(call) {
      if (mask === undefined) return connection.callTool(call);
      const { onProgress } = call;
      // Progress reports count as answers, too.
      const masked: OnCallProgress | undefined =
        onProgress && ((report) => onProgress(mask(report) as typeof report));
      return mask(await connection.callTool({ ...call, onProgress: masked }));
    },
    onToolsChanged: (listener) => connection.onToolsChanged(listener),
    onNotice: (listener) =>
      connection.onNotice?.((notice) => {
        if (notice.kind !== "message") return listener(notice);
        const params = redactor.redactValue(mask === undefined ? notice.params : mask(notice.params)).value;
        listener({ kind: "message", params: params as Record<string, unknown> });
      }),
    isFollowed: () => connection.isFollowed?.() === true,
    onLost: (listener) => connection.onLost(listener),
    close: () => connection.close(),
  };
}

/** Masks credentials in a value, including those that are added during the connection. */
function credentialMask(
  known: readonly string[],
  current: (() => readonly string[]) | undefined,
): (value: unknown) => unknown {
  const own = new Redactor([], known, false);
  const added = new Set(known);
  return (value) => {
    for (const secret of current?.() ?? []) {
      if (added.has(secret)) continue;
      added.add(secret);
      own.add(secret);
    }
    return own.redactValue(value).value;
  };
}
