"""Tools of the MCP server "cloudbase". Written by `ptc generate`: edits are lost."""

from servers import either_way_ as _either_way

from typing import Any, Literal, NotRequired, TypedDict, overload

class AuthInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    action: NotRequired[Literal["status", "start_auth", "set_env", "logout", "get_temp_credentials", "login_by_api_key"]]
    authMode: NotRequired[Literal["device", "web"]]
    oauthEndpoint: NotRequired[str]
    clientId: NotRequired[str]
    oauthCustom: NotRequired[bool]
    site: NotRequired[Literal["domestic", "intl"]]
    envId: NotRequired[str]
    region: NotRequired[str]
    lang: NotRequired[Literal["zh", "en"]]
    apiKey: NotRequired[str]
    apiKeyEnvId: NotRequired[str]
    confirm: NotRequired[Literal["yes"]]
    reveal: NotRequired[bool]

# ptc {"tool": "mcp__cloudbase__auth", "input": "AuthInput"}
@overload
@_either_way
async def auth(
    *,
    action: Literal["status", "start_auth", "set_env", "logout", "get_temp_credentials", "login_by_api_key"] = ...,
    authMode: Literal["device", "web"] = ...,
    oauthEndpoint: str = ...,
    clientId: str = ...,
    oauthCustom: bool = ...,
    site: Literal["domestic", "intl"] = ...,
    envId: str = ...,
    region: str = ...,
    lang: Literal["zh", "en"] = ...,
    apiKey: str = ...,
    apiKeyEnvId: str = ...,
    confirm: Literal["yes"] = ...,
    reveal: bool = ...,
) -> Any:
    """CloudBase（腾讯云开发）开发阶段登录与环境绑定。登录后即可访问云资源；环境(env)是云函数、数据库、静态托管等资源的隔离单元，绑定环境后其他 MCP 工具才能操作该环境。支持：查询状态、发起登录、API Key登录、绑定环境(set_env)、退出登录。auth(status) 会返回 credential_scope（account=账号级 / single_env=环境级 API Key）与当前 region；环境级 API Key 只能看到绑定的 envId，查不到其他地域环境是权限边界而非环境不存在。可选 site/region/lang 参数：site=站点(domestic/intl)，region=地域，lang=输出语言(zh/en)。

    Args:
        action: 动作：status=查询状态，start_auth=发起登录，login_by_api_key=API Key登录，set_env=绑定环境(传envId)，logout=退出登录
        authMode: 认证模式：device=设备码授权，web=浏览器回调授权
        oauthEndpoint: 高级可选：自定义 device-code 登录 endpoint。配置后 oauthCustom 默认按 true 处理
        clientId: 高级可选：自定义 device-code 登录 client_id，不传则使用默认值
        oauthCustom: 高级可选：自定义 endpoint 返回格式开关。未配置 endpoint 时默认 false；配置 endpoint 后默认 true。标准 {code,result} 包装格式的端点（如国际站 tcb-api.tencentcloud.com）应显式传 false
        site: 站点：domestic=国内站，intl=国际站。环境开通在腾讯云国际站时，登录（start_auth/login_by_api_key）需显式传 intl，否则会走国内站链路、看不到国际站环境；调用级显式传入优先于 TCB_SITE 环境变量 / region 映射表 / 项目配置，影响登录端点、授权页与 API Key 换取网关
        envId: 环境ID(CloudBase 环境唯一标识)，绑定后工具将操作该环境。action=set_env 时必填
        region: 地域（如 ap-shanghai / ap-guangzhou / ap-singapore）。用于 region→site 推断与 API Key 换取网关选择；显式 site 优先
        lang: 输出语言：zh=中文（默认），en=英文。覆盖实例级语言（createCloudBaseMcpServer lang 选项 / TCB_LANG / project.json）
        apiKey: CloudBase API Key，action=login_by_api_key 时必填
        apiKeyEnvId: CloudBase 环境ID(EnvId)，action=login_by_api_key 时必填，用于指定 API Key 所属环境
        confirm: action=logout 时确认操作，传 yes
        reveal: action=get_temp_credentials 时可选。true=返回明文临时密钥；默认 false 仅返回脱敏结果
    """
@overload
@_either_way
async def auth(arguments: AuthInput, /) -> Any: ...
