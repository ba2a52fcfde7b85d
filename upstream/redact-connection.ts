import { Redactor } from "../secrets/redaction.ts";
import type { OnCallProgress, UpstreamConnection } from "./upstream.ts";

export interface ConnectionSecrets {
  /** Redacts listings. Definitions are shown to models and written to shared files, and a server may quote its configuration in them. */
  redactor: Pick<Redactor, "redactValue">;
  /** The credentials that the connection was made with. */
  known: readonly string[];
  /** The credentials that have come since, such as a renewed token; by default those that the connection knows of. */
  current?: (() => readonly string[]) | undefined;
}

/**
 * Wraps a connection so that listings hold no secrets, and so that no program is shown the credentials with which ptc uses the
 * server, should it put them into an answer. Nothing else of an answer is touched: secrets that are the server's data are what
 * programs are written for.
 */
export function redactConnection(
  connection: UpstreamConnection,
  { redactor, known, current = connection.secrets?.bind(connection) }: ConnectionSecrets,
): UpstreamConnection {
  const mask = known.length === 0 && current === undefined ? undefined : credentialMask(known, current);
  return {
    async list(signal) {
      const listing = await connection.list(signal);
      return { ...listing, tools: redactor.redactValue(listing.tools).value as unknown[] };
    },
    async callTool(call) {
      if (mask === undefined) return connection.callTool(call);
      const { onProgress } = call;
      // Reports of progress are answers too.
      const masked: OnCallProgress | undefined =
        onProgress && ((report) => onProgress(mask(report) as typeof report));
      return mask(await connection.callTool({ ...call, onProgress: masked }));
    },
    onToolsChanged: (listener) => connection.onToolsChanged(listener),
    onLost: (listener) => connection.onLost(listener),
    close: () => connection.close(),
  };
}

/** Masks credentials in a value, those too that come while the connection lives. */
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
