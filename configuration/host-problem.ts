import { isIP } from "node:net";

const HOST =
  /^(?:\*\.)?(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

/** What is wrong with an entry of `network`; undefined if nothing is. */
export function hostProblem(text: string): string | undefined {
  const [, host = "", port] = /^(.*?)(?::(\d{1,5}))?$/.exec(text.toLowerCase()) ?? [];
  if (isIP(host.replace(/^\[|\]$/g, "")) !== 0 || /^\d+(?:\.\d+){3}$/.test(host))
    return "is an address, and a server reaches names alone; give the address a name, for example in /etc/hosts";
  if (host === "*") return "would be every host; name hosts, such as api.example.com or *.example.com";
  if (host.length > 253 || !HOST.test(host))
    return "must be a host such as api.example.com, *.example.com or db.internal:5432, without a scheme or path";
  if (port !== undefined && (Number(port) < 1 || Number(port) > 65_535)) return "has no port from 1 to 65535";
  if (host === "localhost" && port === undefined)
    return "needs a port: write localhost:PORT for a port of this machine";
  if (host.endsWith(".localhost")) return "is this machine; write localhost:PORT";
  return undefined;
}
