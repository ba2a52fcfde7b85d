/** The actions that rules about tools decide about. */
export type RuleAction = "list" | "call" | "read" | "approve";

/** The actions that rules about people decide about. */
export type PeopleAction = "read_runs" | "approve" | "audit";

/** What rules about tools are validated against, in Cedar's own notation: the only home of the names that they may use. */
export const RULE_SCHEMA = `// What the rules of ptc about tools may speak of. Written by \`ptc policy schema\`. Rules about what is another's are rules about
// people, and have a schema of their own: \`ptc policy schema --people\`.

// A group of principals: \`policy.groups\` in ptc.yaml.
entity Group;

// Who runs a program; User::"local" is the person who started ptc on this machine.
entity User in [Group];

// A server, by its name in ptc.yaml.
entity Server;

// What a server claims about its tool. Nobody has checked it.
type Claims = {
  title?: String,
  readOnly?: Bool,
  destructive?: Bool,
  idempotent?: Bool,
  openWorld?: Bool,
};

// A tool, by its name in programs: Tool::"mcp__<server_module>__<tool>". Resources, prompts and skills of a server are such too:
// Tool::"mcp__<server_module>__resources/read".
entity Tool in [Server] {
  // As its server names it.
  name: String,
  server: String,
  // What its results carry, and which labels may flow into it, by ptc.yaml.
  labels: Set<String>,
  accepts?: Set<String>,
  claims: Claims,
};

// The arguments of a call, by path: "to", "message.subject", "items[0].id". Each text, number, truth value and null is a text.
entity Arguments tags String;

// Those that are numbers, to four decimal places, rounded away from zero.
entity Numbers tags decimal;

// Those that are lists of such values, as sets of texts.
entity Lists tags Set<String>;

// By path, what each value carries, and what all values in a list or an object carry together. What content does not decide
// carries what it may depend on.
entity Labels tags Set<String>;

// By path, where values come from: "user" (what the user said), "program", "data", or a tool by its name in programs.
entity Origins tags Set<String>;

// By path, the hosts of URLs in values ("example.com"), and the domains of addresses of e-mail in them. A path is missing where there is none.
entity Hosts tags Set<String>;
entity Domains tags Set<String>;

// By the name of a list in ptc.yaml, the paths of the values that are in it; of a list or an object, where all of its values are.
entity Listed tags Set<String>;

type Conversation = {
  // What its model was shown.
  labels: Set<String>,
};

// What the run has done before this call.
type Run = {
  calls: Long,
  callsOfTool: Long,
  // The servers whose data it has read, by name, and the labels of that data.
  servers: Set<String>,
  labels: Set<String>,
};

// What the call came through. The name is what an MCP client calls itself, or the command of ptc: a claim. The id is the OAuth client to
// which the login's token was given, as its issuer says. Each is "" where nothing says it.
type Client = {
  name: String,
  id: String,
};

type Call = {
  // "run", "serve", "call" or "library".
  source: String,
  client: Client,
  now: datetime,
  run: Run,
  arguments: Arguments,
  numbers: Numbers,
  lists: Lists,
  labels: Labels,
  origins: Origins,
  // The paths of the values that the user said; of a list or an object, where the user said all of its values.
  said: Set<String>,
  conversation: Conversation,
  hosts: Hosts,
  domains: Domains,
  listed: Listed,
};

// To find a tool, and to have it in modules and types: who may call it may, unless a rule forbids it.
action list appliesTo { principal: User, resource: Tool };

// To call a tool.
action call appliesTo { principal: User, resource: Tool, context: Call };

// To read a resource or a prompt, or to list them.
action read appliesTo { principal: User, resource: Tool, context: Call };

// To have a call go out that a person has to approve, once one did.
action approve appliesTo { principal: User, resource: Tool, context: Call };
`;

/** What rules about people are validated against. */
export const PEOPLE_SCHEMA = `// What the rules of ptc about people may speak of. Written by \`ptc policy schema --people\`. One's own things need no rule.

// A group of principals: \`policy.groups\` in ptc.yaml, and the groups of somebody's login.
entity Group;

// Who asks, and whose something is; User::"local" is the person who started ptc on this machine.
entity User in [Group];

// Log::"audit" is the audit log.
entity Log;

// A question that waits in a run: the tool that it would call, by its name in programs, and the server's name in ptc.yaml.
type Question = {
  tool: String,
  server: String,
};

// To see another's runs with all that they gave out, and to replay them.
action read_runs appliesTo { principal: User, resource: User };

// To see what waits in another's runs, and to answer it.
action approve appliesTo { principal: User, resource: User, context: Question };

// To read the audit log, with the lines of everybody.
action audit appliesTo { principal: User, resource: Log };
`;
