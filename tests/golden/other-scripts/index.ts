/** Tools of the MCP server "cloudbase". Written by `ptc generate`: edits are lost. */

import { tool } from "../../runtime.js";

export interface AuthInput {
  /** 动作：status=查询状态，start_auth=发起登录，login_by_api_key=API Key登录，set_env=绑定环境(传envId)，logout=退出登录 */
  action?: "status" | "start_auth" | "set_env" | "logout" | "get_temp_credentials" | "login_by_api_key";
  /** 认证模式：device=设备码授权，web=浏览器回调授权 */
  authMode?: "device" | "web";
  /** 高级可选：自定义 device-code 登录 endpoint。配置后 oauthCustom 默认按 true 处理 */
  oauthEndpoint?: string;
  /** 高级可选：自定义 device-code 登录 client_id，不传则使用默认值 */
  clientId?: string;
  /** 高级可选：自定义 endpoint 返回格式开关。未配置 endpoint 时默认 false；配置 endpoint 后默认 true。标准 {code,result} 包装格式的端点（如国际站 tcb-api.tencentcloud.com）应显式传 false */
  oauthCustom?: boolean;
  /** 站点：domestic=国内站，intl=国际站。环境开通在腾讯云国际站时，登录（start_auth/login_by_api_key）需显式传 intl，否则会走国内站链路、看不到国际站环境；调用级显式传入优先于 TCB_SITE 环境变量 / region 映射表 / 项目配置，影响登录端点、授权页与 API Key 换取网关 */
  site?: "domestic" | "intl";
  /** 环境ID(CloudBase 环境唯一标识)，绑定后工具将操作该环境。action=set_env 时必填 */
  envId?: string;
  /** 地域（如 ap-shanghai / ap-guangzhou / ap-singapore）。用于 region→site 推断与 API Key 换取网关选择；显式 site 优先 */
  region?: string;
  /** 输出语言：zh=中文（默认），en=英文。覆盖实例级语言（createCloudBaseMcpServer lang 选项 / TCB_LANG / project.json） */
  lang?: "zh" | "en";
  /** CloudBase API Key，action=login_by_api_key 时必填 */
  apiKey?: string;
  /** CloudBase 环境ID(EnvId)，action=login_by_api_key 时必填，用于指定 API Key 所属环境 */
  apiKeyEnvId?: string;
  /** action=logout 时确认操作，传 yes */
  confirm?: "yes";
  /** action=get_temp_credentials 时可选。true=返回明文临时密钥；默认 false 仅返回脱敏结果 */
  reveal?: boolean;
}

/**
 * CloudBase（腾讯云开发）开发阶段登录与环境绑定。登录后即可访问云资源；环境(env)是云函数、数据库、静态托管等资源的隔离单元，绑定环境后其他 MCP 工具才能操作该环境。支持：查询状态、发起登录、API Key登录、绑定环境(set_env)、退出登录。auth(status) 会返回 credential_scope（account=账号级 / single_env=环境级 API Key）与当前 region；环境级 API Key 只能看到绑定的 envId，查不到其他地域环境是权限边界而非环境不存在。可选 site/region/lang 参数：site=站点(domestic/intl)，region=地域，lang=输出语言(zh/en)。
 * @returns any: this tool declares no output schema
 */
export const auth = tool<AuthInput, any>("mcp__cloudbase__auth");
