"""The CRI v1 contract as tables: every message, enum and method with its wire numbers.

The numbers and names are those of the package ``runtime.v1`` (kubernetes/cri-api). One entry reads
``Message: number field type; ...`` where ``[]type`` is repeated and ``map:type`` maps from strings;
lines with deeper indentation continue the entry above. ``cri.py`` turns the tables into classes.
"""

# module-size: data

ENUMS = """
CgroupDriver: SYSTEMD 0, CGROUPFS 1
ContainerEventType: CONTAINER_CREATED_EVENT 0, CONTAINER_STARTED_EVENT 1, CONTAINER_STOPPED_EVENT
    2, CONTAINER_DELETED_EVENT 3
ContainerState: CONTAINER_CREATED 0, CONTAINER_RUNNING 1, CONTAINER_EXITED 2, CONTAINER_UNKNOWN 3
MountPropagation: PROPAGATION_PRIVATE 0, PROPAGATION_HOST_TO_CONTAINER 1,
    PROPAGATION_BIDIRECTIONAL 2
NamespaceMode: POD 0, CONTAINER 1, NODE 2, TARGET 3
PodSandboxState: SANDBOX_READY 0, SANDBOX_NOTREADY 1
Protocol: TCP 0, UDP 1, SCTP 2
Signal: SIGNAL_RUNTIME_DEFAULT 0, SIGNAL_SIGABRT 1, SIGNAL_SIGALRM 2, SIGNAL_SIGBUS 3,
    SIGNAL_SIGCHLD 4, SIGNAL_SIGCLD 5, SIGNAL_SIGCONT 6, SIGNAL_SIGFPE 7, SIGNAL_SIGHUP 8,
    SIGNAL_SIGILL 9, SIGNAL_SIGINT 10, SIGNAL_SIGIO 11, SIGNAL_SIGIOT 12, SIGNAL_SIGKILL 13,
    SIGNAL_SIGPIPE 14, SIGNAL_SIGPOLL 15, SIGNAL_SIGPROF 16, SIGNAL_SIGPWR 17, SIGNAL_SIGQUIT 18,
    SIGNAL_SIGSEGV 19, SIGNAL_SIGSTKFLT 20, SIGNAL_SIGSTOP 21, SIGNAL_SIGSYS 22, SIGNAL_SIGTERM
    23, SIGNAL_SIGTRAP 24, SIGNAL_SIGTSTP 25, SIGNAL_SIGTTIN 26, SIGNAL_SIGTTOU 27, SIGNAL_SIGURG
    28, SIGNAL_SIGUSR1 29, SIGNAL_SIGUSR2 30, SIGNAL_SIGVTALRM 31, SIGNAL_SIGWINCH 32,
    SIGNAL_SIGXCPU 33, SIGNAL_SIGXFSZ 34, SIGNAL_SIGRTMIN 35, SIGNAL_SIGRTMINPLUS1 36,
    SIGNAL_SIGRTMINPLUS2 37, SIGNAL_SIGRTMINPLUS3 38, SIGNAL_SIGRTMINPLUS4 39,
    SIGNAL_SIGRTMINPLUS5 40, SIGNAL_SIGRTMINPLUS6 41, SIGNAL_SIGRTMINPLUS7 42,
    SIGNAL_SIGRTMINPLUS8 43, SIGNAL_SIGRTMINPLUS9 44, SIGNAL_SIGRTMINPLUS10 45,
    SIGNAL_SIGRTMINPLUS11 46, SIGNAL_SIGRTMINPLUS12 47, SIGNAL_SIGRTMINPLUS13 48,
    SIGNAL_SIGRTMINPLUS14 49, SIGNAL_SIGRTMINPLUS15 50, SIGNAL_SIGRTMAXMINUS14 51,
    SIGNAL_SIGRTMAXMINUS13 52, SIGNAL_SIGRTMAXMINUS12 53, SIGNAL_SIGRTMAXMINUS11 54,
    SIGNAL_SIGRTMAXMINUS10 55, SIGNAL_SIGRTMAXMINUS9 56, SIGNAL_SIGRTMAXMINUS8 57,
    SIGNAL_SIGRTMAXMINUS7 58, SIGNAL_SIGRTMAXMINUS6 59, SIGNAL_SIGRTMAXMINUS5 60,
    SIGNAL_SIGRTMAXMINUS4 61, SIGNAL_SIGRTMAXMINUS3 62, SIGNAL_SIGRTMAXMINUS2 63,
    SIGNAL_SIGRTMAXMINUS1 64, SIGNAL_SIGRTMAX 65
SupplementalGroupsPolicy: Merge 0, Strict 1
SecurityProfileType: RuntimeDefault 0, Unconfined 1, Localhost 2
"""

MESSAGES = """
AttachRequest: 1 container_id string; 2 stdin bool; 3 tty bool; 4 stdout bool; 5 stderr bool
AttachResponse: 1 url string
AuthConfig: 1 username string; 2 password string; 3 auth string; 4 server_address string; 5
    identity_token string; 6 registry_token string
CDIDevice: 1 name string
Capability: 1 add_capabilities []string; 2 drop_capabilities []string; 3 add_ambient_capabilities
    []string
Container: 1 id string; 2 pod_sandbox_id string; 3 metadata ContainerMetadata; 4 image ImageSpec;
    5 image_ref string; 6 state ContainerState; 7 created_at int64; 8 labels map:string; 9
    annotations map:string; 10 image_id string
ContainerAttributes: 1 id string; 2 metadata ContainerMetadata; 3 labels map:string; 4 annotations
    map:string
ContainerConfig: 1 metadata ContainerMetadata; 2 image ImageSpec; 3 command []string; 4 args
    []string; 5 working_dir string; 6 envs []KeyValue; 7 mounts []Mount; 8 devices []Device; 9
    labels map:string; 10 annotations map:string; 11 log_path string; 12 stdin bool; 13 stdin_once
    bool; 14 tty bool; 15 linux LinuxContainerConfig; 16 windows WindowsContainerConfig; 17
    CDI_devices []CDIDevice; 18 stop_signal Signal
ContainerEventResponse: 1 container_id string; 2 container_event_type ContainerEventType; 3
    created_at int64; 4 pod_sandbox_status PodSandboxStatus; 5 containers_statuses
    []ContainerStatus
ContainerFilter: 1 id string; 2 state ContainerStateValue; 3 pod_sandbox_id string; 4
    label_selector map:string
ContainerMetadata: 1 name string; 2 attempt uint32
ContainerResources: 1 linux LinuxContainerResources; 2 windows WindowsContainerResources
ContainerStateValue: 1 state ContainerState
ContainerStats: 1 attributes ContainerAttributes; 2 cpu CpuUsage; 3 memory MemoryUsage; 4
    writable_layer FilesystemUsage; 5 swap SwapUsage; 6 io IoUsage
ContainerStatsFilter: 1 id string; 2 pod_sandbox_id string; 3 label_selector map:string
ContainerStatsRequest: 1 container_id string
ContainerStatsResponse: 1 stats ContainerStats
ContainerStatus: 1 id string; 2 metadata ContainerMetadata; 3 state ContainerState; 4 created_at
    int64; 5 started_at int64; 6 finished_at int64; 7 exit_code int32; 8 image ImageSpec; 9
    image_ref string; 10 reason string; 11 message string; 12 labels map:string; 13 annotations
    map:string; 14 mounts []Mount; 15 log_path string; 16 resources ContainerResources; 17
    image_id string; 18 user ContainerUser; 19 stop_signal Signal
ContainerStatusRequest: 1 container_id string; 2 verbose bool
ContainerStatusResponse: 1 status ContainerStatus; 2 info map:string
ContainerUser: 1 linux LinuxContainerUser
CpuUsage: 1 timestamp int64; 2 usage_core_nano_seconds UInt64Value; 3 usage_nano_cores
    UInt64Value; 4 psi PsiStats
CreateContainerRequest: 1 pod_sandbox_id string; 2 config ContainerConfig; 3 sandbox_config
    PodSandboxConfig
CreateContainerResponse: 1 container_id string
DNSConfig: 1 servers []string; 2 searches []string; 3 options []string
Device: 1 container_path string; 2 host_path string; 3 permissions string
ExecRequest: 1 container_id string; 2 cmd []string; 3 tty bool; 4 stdin bool; 5 stdout bool; 6
    stderr bool
ExecResponse: 1 url string
ExecSyncRequest: 1 container_id string; 2 cmd []string; 3 timeout int64
ExecSyncResponse: 1 stdout bytes; 2 stderr bytes; 3 exit_code int32
FilesystemIdentifier: 1 mountpoint string
FilesystemUsage: 1 timestamp int64; 2 fs_id FilesystemIdentifier; 3 used_bytes UInt64Value; 4
    inodes_used UInt64Value
GetEventsRequest:
HugepageLimit: 1 page_size string; 2 limit uint64
IDMapping: 1 host_id uint32; 2 container_id uint32; 3 length uint32
Image: 1 id string; 2 repo_tags []string; 3 repo_digests []string; 4 size uint64; 5 uid
    Int64Value; 6 username string; 7 spec ImageSpec; 8 pinned bool
ImageFilter: 1 image ImageSpec
ImageFsInfoRequest:
ImageFsInfoResponse: 1 image_filesystems []FilesystemUsage; 2 container_filesystems
    []FilesystemUsage
ImageSpec: 1 image string; 2 annotations map:string; 18 user_specified_image string; 19
    runtime_handler string; 20 image_ref string
ImageStatusRequest: 1 image ImageSpec; 2 verbose bool
ImageStatusResponse: 1 image Image; 2 info map:string
Int64Value: 1 value int64
IoUsage: 1 timestamp int64; 2 psi PsiStats
KeyValue: 1 key string; 2 value bytes
LinuxContainerConfig: 1 resources LinuxContainerResources; 2 security_context
    LinuxContainerSecurityContext
LinuxContainerResources: 1 cpu_period int64; 2 cpu_quota int64; 3 cpu_shares int64; 4
    memory_limit_in_bytes int64; 5 oom_score_adj int64; 6 cpuset_cpus string; 7 cpuset_mems
    string; 8 hugepage_limits []HugepageLimit; 9 unified map:string; 10 memory_swap_limit_in_bytes
    int64
LinuxContainerSecurityContext: 1 capabilities Capability; 2 privileged bool; 3 namespace_options
    NamespaceOption; 4 selinux_options SELinuxOption; 5 run_as_user Int64Value; 12 run_as_group
    Int64Value; 6 run_as_username string; 7 readonly_rootfs bool; 8 supplemental_groups []int64;
    17 supplemental_groups_policy SupplementalGroupsPolicy; 11 no_new_privs bool; 13 masked_paths
    []string; 14 readonly_paths []string; 15 seccomp SecurityProfile; 16 apparmor SecurityProfile;
    9 apparmor_profile string; 10 seccomp_profile_path string
LinuxContainerUser: 1 uid int64; 2 gid int64; 3 supplemental_groups []int64
LinuxPodSandboxConfig: 1 cgroup_parent string; 2 security_context LinuxSandboxSecurityContext; 3
    sysctls map:string; 4 overhead LinuxContainerResources; 5 resources LinuxContainerResources
LinuxPodSandboxStats: 1 cpu CpuUsage; 2 memory MemoryUsage; 3 network NetworkUsage; 4 process
    ProcessUsage; 5 containers []ContainerStats; 6 io IoUsage
LinuxPodSandboxStatus: 1 namespaces Namespace
LinuxRuntimeConfiguration: 1 cgroup_driver CgroupDriver
LinuxSandboxSecurityContext: 1 namespace_options NamespaceOption; 2 selinux_options SELinuxOption;
    3 run_as_user Int64Value; 8 run_as_group Int64Value; 4 readonly_rootfs bool; 5
    supplemental_groups []int64; 11 supplemental_groups_policy SupplementalGroupsPolicy; 6
    privileged bool; 9 seccomp SecurityProfile; 10 apparmor SecurityProfile; 7
    seccomp_profile_path string
ListContainerStatsRequest: 1 filter ContainerStatsFilter
ListContainerStatsResponse: 1 stats []ContainerStats
ListContainersRequest: 1 filter ContainerFilter
ListContainersResponse: 1 containers []Container
ListImagesRequest: 1 filter ImageFilter
ListImagesResponse: 1 images []Image
ListPodSandboxRequest: 1 filter PodSandboxFilter
ListPodSandboxResponse: 1 items []PodSandbox
ListPodSandboxStatsRequest: 1 filter PodSandboxStatsFilter
ListPodSandboxStatsResponse: 1 stats []PodSandboxStats
MemoryUsage: 1 timestamp int64; 2 working_set_bytes UInt64Value; 3 available_bytes UInt64Value; 4
    usage_bytes UInt64Value; 5 rss_bytes UInt64Value; 6 page_faults UInt64Value; 7
    major_page_faults UInt64Value; 8 psi PsiStats
Mount: 1 container_path string; 2 host_path string; 3 readonly bool; 4 selinux_relabel bool; 5
    propagation MountPropagation; 6 uidMappings []IDMapping; 7 gidMappings []IDMapping; 8
    recursive_read_only bool; 9 image ImageSpec; 10 image_sub_path string; 11 mount_options
    []string
Namespace: 2 options NamespaceOption
NamespaceOption: 1 network NamespaceMode; 2 pid NamespaceMode; 3 ipc NamespaceMode; 4 target_id
    string; 5 userns_options UserNamespace
NetworkConfig: 1 pod_cidr string
NetworkInterfaceUsage: 1 name string; 2 rx_bytes UInt64Value; 3 rx_errors UInt64Value; 4 tx_bytes
    UInt64Value; 5 tx_errors UInt64Value
NetworkUsage: 1 timestamp int64; 2 default_interface NetworkInterfaceUsage; 3 interfaces
    []NetworkInterfaceUsage
PodIP: 1 ip string
PodSandbox: 1 id string; 2 metadata PodSandboxMetadata; 3 state PodSandboxState; 4 created_at
    int64; 5 labels map:string; 6 annotations map:string; 7 runtime_handler string
PodSandboxAttributes: 1 id string; 2 metadata PodSandboxMetadata; 3 labels map:string; 4
    annotations map:string
PodSandboxConfig: 1 metadata PodSandboxMetadata; 2 hostname string; 3 log_directory string; 4
    dns_config DNSConfig; 5 port_mappings []PortMapping; 6 labels map:string; 7 annotations
    map:string; 8 linux LinuxPodSandboxConfig; 9 windows WindowsPodSandboxConfig
PodSandboxFilter: 1 id string; 2 state PodSandboxStateValue; 3 label_selector map:string
PodSandboxMetadata: 1 name string; 2 uid string; 3 namespace string; 4 attempt uint32
PodSandboxNetworkStatus: 1 ip string; 2 additional_ips []PodIP
PodSandboxStateValue: 1 state PodSandboxState
PodSandboxStats: 1 attributes PodSandboxAttributes; 2 linux LinuxPodSandboxStats; 3 windows
    WindowsPodSandboxStats
PodSandboxStatsFilter: 1 id string; 2 label_selector map:string
PodSandboxStatsRequest: 1 pod_sandbox_id string
PodSandboxStatsResponse: 1 stats PodSandboxStats
PodSandboxStatus: 1 id string; 2 metadata PodSandboxMetadata; 3 state PodSandboxState; 4
    created_at int64; 5 network PodSandboxNetworkStatus; 6 linux LinuxPodSandboxStatus; 7 labels
    map:string; 8 annotations map:string; 9 runtime_handler string
PodSandboxStatusRequest: 1 pod_sandbox_id string; 2 verbose bool
PodSandboxStatusResponse: 1 status PodSandboxStatus; 2 info map:string; 3 containers_statuses
    []ContainerStatus; 4 timestamp int64
PortForwardRequest: 1 pod_sandbox_id string; 2 port []int32
PortForwardResponse: 1 url string
PortMapping: 1 protocol Protocol; 2 container_port int32; 3 host_port int32; 4 host_ip string
ProcessUsage: 1 timestamp int64; 2 process_count UInt64Value
PsiData: 1 Total uint64; 2 Avg10 double; 3 Avg60 double; 4 Avg300 double
PsiStats: 1 Full PsiData; 2 Some PsiData
PullImageRequest: 1 image ImageSpec; 2 auth AuthConfig; 3 sandbox_config PodSandboxConfig
PullImageResponse: 1 image_ref string
RemoveContainerRequest: 1 container_id string
RemoveContainerResponse:
RemoveImageRequest: 1 image ImageSpec
RemoveImageResponse:
RemovePodSandboxRequest: 1 pod_sandbox_id string
RemovePodSandboxResponse:
ReopenContainerLogRequest: 1 container_id string
ReopenContainerLogResponse:
RestoredContainer: 1 name string; 2 container_id string
RunPodSandboxRequest: 1 config PodSandboxConfig; 2 runtime_handler string
RunPodSandboxResponse: 1 pod_sandbox_id string
RuntimeCondition: 1 type string; 2 status bool; 3 reason string; 4 message string
RuntimeConfig: 1 network_config NetworkConfig
RuntimeConfigRequest:
RuntimeConfigResponse: 1 linux LinuxRuntimeConfiguration
RuntimeFeatures: 1 supplemental_groups_policy bool; 2 user_namespaces_host_network bool; 3
    mount_options bool
RuntimeHandler: 1 name string; 2 features RuntimeHandlerFeatures
RuntimeHandlerFeatures: 1 recursive_read_only_mounts bool; 2 user_namespaces bool
RuntimeStatus: 1 conditions []RuntimeCondition
SELinuxOption: 1 user string; 2 role string; 3 type string; 4 level string
SecurityProfile: 1 profile_type SecurityProfileType; 2 localhost_ref string
StartContainerRequest: 1 container_id string
StartContainerResponse:
StatusRequest: 1 verbose bool
StatusResponse: 1 status RuntimeStatus; 2 info map:string; 3 runtime_handlers []RuntimeHandler; 4
    features RuntimeFeatures
StopContainerRequest: 1 container_id string; 2 timeout int64
StopContainerResponse:
StopPodSandboxRequest: 1 pod_sandbox_id string
StopPodSandboxResponse:
SwapUsage: 1 timestamp int64; 2 swap_available_bytes UInt64Value; 3 swap_usage_bytes UInt64Value
UInt64Value: 1 value uint64
UpdateContainerResourcesRequest: 1 container_id string; 2 linux LinuxContainerResources; 3 windows
    WindowsContainerResources; 4 annotations map:string
UpdateContainerResourcesResponse:
UpdateRuntimeConfigRequest: 1 runtime_config RuntimeConfig
UpdateRuntimeConfigResponse:
UserNamespace: 1 mode NamespaceMode; 2 uids []IDMapping; 3 gids []IDMapping
VersionRequest: 1 version string
VersionResponse: 1 version string; 2 runtime_name string; 3 runtime_version string; 4
    runtime_api_version string
WindowsContainerConfig: 1 resources WindowsContainerResources; 2 security_context
    WindowsContainerSecurityContext
WindowsContainerResources: 1 cpu_shares int64; 2 cpu_count int64; 3 cpu_maximum int64; 4
    memory_limit_in_bytes int64; 5 rootfs_size_in_bytes int64; 6 affinity_cpus
    []WindowsCpuGroupAffinity
WindowsContainerSecurityContext: 1 run_as_username string; 2 credential_spec string; 3
    host_process bool
WindowsContainerStats: 1 attributes ContainerAttributes; 2 cpu WindowsCpuUsage; 3 memory
    WindowsMemoryUsage; 4 writable_layer WindowsFilesystemUsage
WindowsCpuGroupAffinity: 1 cpu_mask uint64; 2 cpu_group uint32
WindowsCpuUsage: 1 timestamp int64; 2 usage_core_nano_seconds UInt64Value; 3 usage_nano_cores
    UInt64Value
WindowsFilesystemUsage: 1 timestamp int64; 2 fs_id FilesystemIdentifier; 3 used_bytes UInt64Value
WindowsMemoryUsage: 1 timestamp int64; 2 working_set_bytes UInt64Value; 3 available_bytes
    UInt64Value; 4 page_faults UInt64Value; 5 commit_memory_bytes UInt64Value
WindowsNamespaceOption: 1 network NamespaceMode
WindowsNetworkInterfaceUsage: 1 name string; 2 rx_bytes UInt64Value; 3 rx_packets_dropped
    UInt64Value; 4 tx_bytes UInt64Value; 5 tx_packets_dropped UInt64Value
WindowsNetworkUsage: 1 timestamp int64; 2 default_interface WindowsNetworkInterfaceUsage; 3
    interfaces []WindowsNetworkInterfaceUsage
WindowsPodSandboxConfig: 1 security_context WindowsSandboxSecurityContext
WindowsPodSandboxStats: 1 cpu WindowsCpuUsage; 2 memory WindowsMemoryUsage; 3 network
    WindowsNetworkUsage; 4 process WindowsProcessUsage; 5 containers []WindowsContainerStats
WindowsProcessUsage: 1 timestamp int64; 2 process_count UInt64Value
WindowsSandboxSecurityContext: 1 run_as_username string; 2 credential_spec string; 3 host_process
    bool; 4 namespace_options WindowsNamespaceOption
"""

# service -> methods; "*" marks a method that answers with a stream.
METHODS: dict[str, tuple[str, ...]] = {
    "RuntimeService": (
        "Version",
        "RunPodSandbox",
        "StopPodSandbox",
        "RemovePodSandbox",
        "PodSandboxStatus",
        "ListPodSandbox",
        "CreateContainer",
        "StartContainer",
        "StopContainer",
        "RemoveContainer",
        "ListContainers",
        "ContainerStatus",
        "UpdateContainerResources",
        "ReopenContainerLog",
        "ExecSync",
        "Exec",
        "Attach",
        "PortForward",
        "ContainerStats",
        "ListContainerStats",
        "PodSandboxStats",
        "ListPodSandboxStats",
        "UpdateRuntimeConfig",
        "Status",
        "GetContainerEvents*",
        "RuntimeConfig",
    ),
    "ImageService": (
        "ListImages",
        "ImageStatus",
        "PullImage",
        "RemoveImage",
        "ImageFsInfo",
    ),
}
