import { LOCAL_PRINCIPAL } from "../../../protocol/run-context.ts";
import { type AuditFields, isUnwanted } from "../audit-line.ts";

/** The version of the Open Cybersecurity Schema Framework (https://schema.ocsf.io) that events follow. */
const OCSF_VERSION = "1.6.0";
const INFORMATIONAL = 1;
const LOW = 2;
const SUCCESS = 1;
const FAILURE = 2;
const OTHER = 99;
const UNKNOWN = 0;

/** The action of a security control and its outcome: `action_id` and `disposition_id` of the profile `security_control`. */
const ALLOWED = [1, 1] as const;
const APPROVED = [1, 8] as const;
const BLOCKED = [2, 2] as const;
const REJECTED = [2, 25] as const;
/** Neither allowed nor denied until somebody answers. */
const DELAYED = [3, 14] as const;

/** Classes, each with its category: calls and runs are API activity, logins are authentication. */
const API_ACTIVITY = { uid: 6003, name: "API Activity", category: 6, categoryName: "Application Activity" };
const AUTHENTICATION = {
  uid: 3002,
  name: "Authentication",
  category: 3,
  categoryName: "Identity & Access Management",
};

const LOGIN_ACTIVITY: Readonly<Record<string, readonly [number, string]>> = {
  logged_in: [1, "Logon"],
  failed: [1, "Logon"],
  logged_out: [2, "Logoff"],
  ended: [2, "Logoff"],
  // Both are tokens that a service gets without a person.
  renewed: [5, "Service Ticket Renew"],
  machine_token: [4, "Service Ticket Request"],
};

const ACTIVITIES: Readonly<Record<string, string>> = {
  calling: "Call begun",
  call: "Call",
  decision: "Policy decision",
  approval: "Approval",
  connection: "Connection of a server",
  access: "Access to what is another's",
  run: "Program run",
  log: "Audit log",
  lost: "Audit lines lost",
};

/** Renders a line of the audit log as an OCSF event. `unmapped` has all members of the line, so that readers can still check the chain. */
export function renderOcsf(fields: AuditFields, version: string): object {
  const isLogin = fields.event === "login";
  const unwanted = isUnwanted(fields);
  const kind = isLogin ? AUTHENTICATION : API_ACTIVITY;
  const [activity, activityName] = isLogin
    ? (LOGIN_ACTIVITY[String(fields.login)] ?? [OTHER, String(fields.login)])
    : [OTHER, ACTIVITIES[String(fields.event)] ?? String(fields.event)];
  const isDecided = typeof fields.decision === "string";
  return {
    class_uid: kind.uid,
    class_name: kind.name,
    category_uid: kind.category,
    category_name: kind.categoryName,
    activity_id: activity,
    activity_name: activityName,
    type_uid: kind.uid * 100 + activity,
    time: Date.parse(String(fields.time)) || 0,
    severity_id: unwanted ? LOW : INFORMATIONAL,
    status_id: unwanted ? FAILURE : SUCCESS,
    ...(typeof fields.reason === "string" ? { status_detail: fields.reason } : {}),
    ...(typeof fields.duration_ms === "number" ? { duration: fields.duration_ms } : {}),
    metadata: {
      version: OCSF_VERSION,
      product: { name: "ptc", vendor_name: "ptc", version },
      ...profilesOf(isDecided, fields),
      ...(typeof fields.seq === "number" ? { sequence: fields.seq } : {}),
      ...(typeof fields.run_id === "string" ? { correlation_uid: fields.run_id } : {}),
    },
    ...(isDecided ? controlMembers(fields) : {}),
    ...(isLogin ? loginMembers(fields) : callMembers(fields)),
    ...(fields.host === undefined ? {} : { device: { hostname: String(fields.host), type_id: UNKNOWN } }),
    unmapped: fields,
  };
}

function profilesOf(isDecided: boolean, { host }: AuditFields): object {
  const profiles = [...(isDecided ? ["security_control"] : []), ...(host === undefined ? [] : ["host"])];
  return profiles.length === 0 ? {} : { profiles };
}

function controlMembers(fields: AuditFields): object {
  const [action, disposition] = controlOf(fields);
  const { rule, reason } = fields;
  return {
    action_id: action,
    disposition_id: disposition,
    ...(rule === undefined
      ? {}
      : { policy: { name: String(rule), ...(reason === undefined ? {} : { desc: String(reason) }) } }),
  };
}

function controlOf(fields: AuditFields): readonly [action: number, disposition: number] {
  const decision = String(fields.decision);
  if (decision === "ask" || decision === "suspended") return DELAYED;
  if (decision.startsWith("approved")) return APPROVED;
  if (!isUnwanted(fields)) return ALLOWED;
  return decision === "denied" ? REJECTED : BLOCKED;
}

function loginMembers(fields: AuditFields): object {
  const { server, host } = fields;
  return {
    user: userOf(fields),
    service: { name: String(server || (fields.credential === undefined ? "unknown" : "ptc console")) },
    ...(host === undefined ? {} : { actor: actorOf(fields), src_endpoint: endpointOf(fields) }),
  };
}

function callMembers(fields: AuditFields): object {
  const { event, tool, server, run_id: run } = fields;
  return {
    actor: actorOf(fields),
    api: {
      operation: String(tool ?? (event === "run" ? "execute_program" : (event ?? ""))),
      ...(server === undefined || server === "" ? {} : { service: { name: String(server) } }),
      ...(run === undefined ? {} : { request: { uid: String(run) } }),
    },
    // Programs have no network, so ptc's user is on this machine.
    src_endpoint: endpointOf(fields),
  };
}

function actorOf(fields: AuditFields): object {
  return { user: userOf(fields), app_name: String(fields.client ?? "ptc") };
}

function endpointOf({ host }: AuditFields): object {
  return { name: "localhost", ...(host === undefined ? {} : { hostname: String(host) }) };
}

/**
 * The principal of a login; the account of the system for whoever is at the machine itself. A line of an earlier version that names no
 * account has the principal alone.
 */
function userOf({ user, uid, principal, principal_name: name, groups }: AuditFields): object {
  if (principal !== undefined && principal !== LOCAL_PRINCIPAL && user !== undefined)
    return {
      // A login may say any name: it is no one's account.
      name: String(principal),
      uid: String(principal),
      ...(name === undefined ? {} : { full_name: String(name) }),
      ...(typeof groups === "string" ? { groups: groups.split(", ").map((each) => ({ name: each })) } : {}),
    };
  return {
    name: String(user ?? principal ?? "unknown"),
    ...(user === undefined || uid === undefined ? {} : { uid: String(uid) }),
  };
}
