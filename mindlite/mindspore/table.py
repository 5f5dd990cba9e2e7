"""Where MindSpore's names live in mindlite: {path: (modules to search in order, {name: "module:attribute"})}."""

_OPS = ("mindlite.ops", "mindlite.ops.operations", "mindlite.functional.composite", "mindlite.functional.words",
        "mindlite.functional")
_DTYPE = ("mindlite.common.dtype",)
_KINDS = {name: f"mindlite.functional.composite:{name}" for name in (
    "number", "tensor", "tensor_type", "ref_type", "string", "list_", "tuple_", "none_type", "function")}
# MindSpore's other words for dtypes.
_DTYPE_WORDS = {name: f"mindlite.common.dtype:{dtype}" for name, dtype in {
    "bool": "bool_", "byte": "int8", "short": "int16", "intc": "int32", "int": "int32", "long": "int64", "intp": "int64",
    "ubyte": "uint8", "ushort": "uint16", "uintc": "uint32", "uintp": "uint64", "half": "float16", "single": "float32",
    "float": "float32", "double": "float64", "cfloat": "complex64", "cdouble": "complex128"}.items()}
# MindSpore's classes of dtypes, and what public libraries take from inside MindSpore
_DTYPE_CLASSES = {name: f"mindlite.common.dtype_kinds:{name}" for name in (
    "Type", "Number", "Bool", "Int", "UInt", "Float", "BFloat", "Complex", "TensorType")}
_INSIDE, _FUNCTIONAL = "mindlite.mindspore.internals:", "mindlite.mint.nn.functional:"
_TRAINING = "mindlite.mindspore.training:"
_TENSOR = ("mindlite.common.tensor",)
_OPERATIONS = ("mindlite.ops.operations",)
_NN = ("mindlite.nn", "mindlite.nn.layer.historical")
# what MindSpore's nn shows besides layers: the metrics, and the layers of mint under a name of their own
_METRICS = {name: f"mindlite.train.metrics:{name}" for name in (
    "Accuracy", "BleuScore", "ConfusionMatrix", "ConfusionMatrixMetric", "CosineSimilarity", "Dice", "F1", "Fbeta",
    "HausdorffDistance", "Loss", "MAE", "MSE", "MeanSurfaceDistance", "Metric", "OcclusionSensitivity", "Perplexity", "Precision",
    "ROC", "Recall", "RootMeanSquareDistance", "Top1CategoricalAccuracy", "Top5CategoricalAccuracy", "TopKCategoricalAccuracy",
    "auc", "get_metric_fn", "get_metrics", "names", "rearrange_inputs")}
_OF_MINT = {"Linear": "mindlite.mint.nn:Linear", **{f"{name}Ext": f"mindlite.mint.nn:{name}" for name in (
    "AvgPool1d", "AvgPool2d", "AvgPool3d", "Dropout", "Dropout2d", "Embedding", "L1Loss", "LayerNorm", "LogSoftmax", "MaxPool2d",
    "PReLU")}, "Upsample": "mindlite.mindspore.functions:Upsample"}
_OWN = "mindlite.nn.optim.own:opt_init_args_register"
# checkpoints of many ranks: what was named transform is named convert, too
_CHECKPOINTS = {**{name: f"mindlite.train.transform:{name}" for name in (
    "build_searched_strategy", "load_distributed_checkpoint", "load_segmented_checkpoints", "merge_pipeline_strategys",
    "merge_sliced_parameter", "parameter_broadcast", "rank_list_for_transform", "restore_group_info_list",
    "transform_checkpoint_by_rank", "transform_checkpoints", "unified_safetensors")},
    **{f"{name.replace('transform', 'convert')}": f"mindlite.train.transform:{name}" for name in (
        "rank_list_for_transform", "transform_checkpoint_by_rank", "transform_checkpoints")}}
_INITIALIZER = ("mindlite.common.initializer",)
_EXECUTORS = {"_no_grad": "mindlite.functional:no_grad",
              "_pynative_executor": "mindlite.functional.executor:pynative_executor",
              "_cell_graph_executor": "mindlite.functional.executor:cell_graph_executor",
              "_CellGraphExecutor": "mindlite.functional.executor:CellGraphExecutor",
              "_PyNativeExecutor": "mindlite.functional.executor:PyNativeExecutor",
              "_no_recursive": "mindlite.functional.jit:no_recursive"}
_GRADIENTS = {name: f"mindlite.functional.custom:{name}" for name in ("Custom", "HookBackward", "InsertGradientOf", "Morph")}
_GRADIENTS.update({name: f"mindlite.functional.operator_gradients:{name}" for name in (
    "AvgPool2DGrad", "BinaryCrossEntropyGrad", "CholeskyGrad", "GluGrad", "L2NormalizeGrad", "LRNGrad",
    "MaxPool3DGrad", "MaxPool3DGradGrad", "MaxPoolGradGrad", "PReLUGrad", "PSROIPoolingGrad", "PadV3Grad", "ROIAlignGrad",
    "ResizeNearestNeighborGrad", "SliceGrad", "StridedSliceGrad", "UpsampleNearest3DGrad", "UpsampleTrilinear3DGrad")})
_GRADIENTS["ResizeNearestNeighborV2Grad"] = _GRADIENTS["ResizeNearestNeighborGrad"]
_GRADIENTS["CTCLoss"] = "mindlite.functional.sequence_loss:CTCLoss"
_REGISTRATION = {name: f"mindlite.functional.registration:{name}" for name in (
    "CustomRegOp", "DataType", "custom_info_register")}
# MindSpore's words for operators that have another name here.
_SYNONYMS = {
    **{f"tensor_{name}": f"mindlite.ops:{found}" for name, found in {
        "add": "add", "sub": "sub", "mul": "mul", "mod": "floor_mod", "floordiv": "floor_div",
        "pow": "pow", "exp": "exp", "expm1": "expm1", "lt": "less", "le": "less_equal", "gt": "greater",
        "ge": "greater_equal"}.items()},
    "dtype": "mindlite.ops.operations:DType.function",
    "inv": "mindlite.ops:reciprocal", "invert": "mindlite.ops:bitwise_not", "matrix_determinant": "mindlite.ops:det",
    "log_matrix_determinant": "mindlite.ops:slogdet", "floordiv": "mindlite.ops:floor_div",
    "floormod": "mindlite.ops:floor_mod", "pows": "mindlite.ops:pow",
    **{name: f"mindlite.mindspore.functions:{name}" for name in (
        "argmin", "argsort", "i0", "reverse", "row_stack", "slice", "sort", "tensor_div", "top_k", "topk", "true_divide",
        "expand_as", "type_as", "range", "conv3d_transpose", "interpolate")},
    **{name: f"mindlite.mindspore.seeded:{name}" for name in (
        "choice_with_mask", "dropout", "gamma", "laplace", "multinomial", "normal", "poisson", "rand", "rand_like",
        "randint", "randn", "randn_like", "random_gamma", "random_poisson", "shuffle", "standard_laplace", "standard_normal",
        "uniform")},
    "upsample": "mindlite.mindspore.functions:interpolate",
    "embedding": "mindlite.mint.nn.functional:embedding", "move_to": "mindlite.ops.operations:MoveTo.function",
    "take": "mindlite.mint.shaping:take",
    "subtract": "mindlite.mint.arithmetic:sub",
    "add_flags": "mindlite.functional.hints:add_flags", "soft_shrink": "mindlite.ops:softshrink",
    **{f"scatter_{nd.lower()}{word.lower()}": f"mindlite.ops.operations:Scatter{nd.title().strip('_')}{word}.as_function"
       for nd in ("", "nd_") for word in ("Add", "Div", "Max", "Min", "Mul", "Sub", "Update")}}
# mint's functions as MindSpore's own modules call them
_MINT_INSIDE = {
    **{f"{name}_ext": f"mindlite.mint:{name}" for name in (
        "baddbmm", "bernoulli", "diff", "einsum", "float_power", "gather", "isnan", "rand", "rand_like", "randint",
        "randint_like", "randn", "randn_like", "split", "min",
        "max", "bmm")},
    **{f"{name}_ext": f"mindlite.mint.nn.functional:{name}" for name in (
        "adaptive_avg_pool2d", "mse_loss", "softmax", "interpolate")},
    **{name: f"mindlite.common.tensor:Tensor.{name}" for name in (
        "new_zeros", "new_ones", "bernoulli_", "clamp_", "erfinv_", "exponential_", "normal_", "put_", "random_", "tanh_",
        "uniform_", "zero_")},
    "conv_transpose2d": "mindlite.mint.nn.functional:conv_transpose2d", "pad_ext": _FUNCTIONAL + "pad",
    "avg_pool2d_ext": _FUNCTIONAL + "avg_pool2d",
    **{f"{name}_view": f"mindlite.mint:{name}" for name in ("broadcast_to", "chunk", "narrow", "split", "unsqueeze")},
    "select_ext_view": "mindlite.mint:select", "transpose_ext_view": "mindlite.mint:transpose",
    "glu_ext": "mindlite.mint.nn.functional:glu", "softplus_ext": "mindlite.mint.nn.functional:softplus"}
# what Python's own functions do, and what reads one part of a value
_WORDS = {
    **dict.fromkeys(("tuple_len", "list_len"), "builtins:len"),
    **dict.fromkeys(("tuple_equal", "list_equal", "string_eq", "bool_eq"), "operator:eq"), "scalar_ne": "operator:ne",
    **dict.fromkeys(("list_getitem", "dict_getitem"), "operator:getitem"), "bool_not": "operator:not_", "is_": "operator:is_",
    "is_not": "operator:is_not", "string_concat": "operator:add",
    **{f"augassign_{word}": f"operator:{found}" for word, found in {
        "add": "add", "sub": "sub", "mul": "mul", "div": "truediv", "floordiv": "floordiv", "mod": "mod"}.items()},
    **{f"{form}_tensor_get_{part}": f"mindlite.mindspore.functions:get_{part}" for form, parts in {
        "coo": ("indices", "values", "dense_shape"), "csr": ("indptr", "indices", "values", "dense_shape"),
        "row": ("indices", "values", "dense_shape")}.items() for part in parts},
    "make_coo_tensor": "mindlite.ops.sparse:COOTensor", "make_csr_tensor": "mindlite.ops.sparse:CSRTensor",
    **dict.fromkeys(("make_row_tensor", "make_row_tensor_inner"), "mindlite.ops.sparse:RowTensor"),
    "reshape_": "mindlite.ops:reshape", "tensor_muls": "mindlite.ops:mul",
    "tensor_range": "mindlite.mindspore.functions:range", "inplace_sigmoid": "mindlite.common.tensor:Tensor.sigmoid_",
    **{name: f"mindlite.mindspore.functions:{name}" for name in (
        "scalar_to_array", "shape_", "tensor_slice", "expand", "randint_like", "make_sparse_tensor", "make_slice", "make_range")}}
# the collectives that write into the tensors they are given
_COLLECTIVES = {name: f"mindlite.mint.distributed:{name}" for name in (
    "all_gather", "all_gather_into_tensor", "all_gather_into_tensor_uneven", "all_gather_object", "all_reduce", "all_to_all",
    "all_to_all_single", "barrier", "batch_isend_irecv", "broadcast", "broadcast_object_list", "destroy_process_group",
    "get_backend", "get_global_rank", "get_group_rank", "get_process_group_ranks", "get_rank", "get_world_size",
    "init_process_group", "irecv", "is_available", "is_initialized", "isend", "new_group", "recv", "reduce", "reduce_scatter",
    "reduce_scatter_tensor", "reduce_scatter_tensor_uneven", "send", "P2POp", "gather_object", "gather_into_tensor",
    "recv_object_list", "scatter_object_list", "scatter_tensor", "send_object_list")}
_COLLECTIVES["all_to_all_v_c"] = "mindlite.communication.comm_func:all_to_all_v_c"
_CONTEXT = {"set_context": "mindlite.functional.context:set_mindspore_context"}
_GENERATOR = {name: f"mindlite.ops.generator:{name}" for name in (
    "Generator", "default_generator", "manual_seed", "seed", "initial_seed", "get_rng_state", "set_rng_state")}
_PRIMITIVE = {"Primitive": "mindlite.ops.operations:Operation", "constexpr": "mindlite.functional.composite:constexpr",
              **{name: "mindlite.ops.operations:Operation" for name in ("PrimitiveWithInfer", "PrimitiveWithCheck")},
              "prim_attr_register": "mindlite.ops.operations:prim_attr_register",
              "_primexpr": "mindlite.functional.composite:constexpr", "prim": "mindlite.ops.operations:"}
_PARAMETERS = {"Parameter": "mindlite.common.tensor:Parameter",
    "ParameterTuple": "mindlite.common.tensor:ParameterTuple",
     "Tensor": "mindlite.common.tensor:Tensor"}


_OF_ASCEND = {name: _INSIDE + name for name in ("DynamicGRUV2", "DynamicRNN")}
_HINTS = {name: f"mindlite.functional.hints:{name}" for name in ("lazy_inline", "no_inline")}
# what MindSpore shows of `runtime` at its top as well
_RUNTIME = (
    "Event", "Stream", "StreamCtx", "communication_stream", "current_stream", "default_stream", "dispatch_threads_num",
    "empty_cache", "launch_blocking", "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved",
    "memory_stats", "memory_summary", "reset_max_memory_allocated", "reset_max_memory_reserved", "reset_peak_memory_stats",
    "set_cpu_affinity", "set_cur_stream", "set_kernel_launch_group", "set_memory", "synchronize")


# names that are not built, and why: the error for them says it
_REASONS = {
    "an Ascend device's cores, streams or memory pool": (
        "get_device_limit", "get_stream_limit", "reset_stream_limit", "set_device_limit", "set_stream_limit", "StreamLimitCtx",
        "memory_replay", "MemPool", "PluggableAllocator", "use_mem_pool", "set_kernel_launch_capture"),
    "checks and repair of Ascend clusters": (
        "OptTFTWrapper", "TFTCommValue", "RSCPluginHandle", "get_sdc_detect_result", "sdc_detect_start",
        "sdc_detect_stop", "stress_detect"),
    "its matrices are inverted by Ascend's kernels": ("thor",),
    "sums between groups of eight Ascend devices": ("AdaSumByDeltaWeightWrapCell", "AdaSumByGradWrapCell"),
    "a client of MindSpore's cache server": ("DatasetCache",),
    "it reads Huawei's cloud storage": ("OBSMindDataset",),
    "MindSpore 2.10 has it no more": ("GraphData", "SamplingStrategy"),
    "Ascend's video decoder": ("VideoFrameDvpp",),
    "parameters cut by MindSpore's parallel strategies; files of shards are `train.save_sharded_checkpoint`'s": (
        "get_ckpt_path_with_strategy", "export_split_mindir", "split_mindir", "split_dynamic_mindir",
        "get_allgather_cell", "sync_pipeline_shared_parameters")}
_REASONS["an operator of Ascend alone"] = tuple("""
    AlltoAllV AlltoAllVC ApplyRotaryPosEmb BatchISendIRecv DumpGradient GroupTopk NPUAllocFloatStatus
    NPUClearFloatStatus NPUGetFloatStatus NeighborExchangeV2 PagedAttention PagedAttentionMask RNNTLoss ReshapeAndCache TensorDump
    add_layer_norm add_rms_norm all_gather_matmul fused_infer_attention_score
    incre_flash_attention lightning_indexer matmul_reduce_scatter moe_distribute_combine moe_distribute_dispatch
    moe_init_routing_v2 moe_token_permute moe_token_unpermute multi_scale_deformable_attn_function nsa_compress
    nsa_compress_attention nsa_select_attention prompt_flash_attention ring_attention_update rotary_position_embedding rotated_iou
    set_comm_ops_inplace sparse_flash_attention speed_fusion_attention stop_gradient_ tensordump""".split())
_REASONS["a class for Ascend or GPUs alone"] = tuple("""
    AutoBoost BoostTrainOneStepWithLossScaleCell Conv2dThor ConvertModelUtils ConvertNetUtils DenseThor DynamicProfilerMonitor
    EmbeddingLookupThor EmbeddingThor GetNextSingleOp GroupLossScaleManager MultiFieldEmbeddingLookup TCPStore
    connect_network_with_dataset""".split())
_REASONS["it registers kernels of MindSpore's C++"] = tuple("""
    AiCPURegOp AkgAscendRegOp AkgGpuRegOp CpuRegOp CustomOpBuilder DtypeToEnum TBERegOp get_vm_impl_fn kernel ms_kernel
    op_info_register prim_arg_register tensor_operator_registry _ms_pyfunc""".split())
_REASONS["a node of the graphs in MindSpore's C++"] = tuple("""
    CopyWithSlice GeSwitch J Merge PyExecute Reusing SliceGetItem UpdateState _AllSwap _Grad _NullType _Vmap _add_attr _null
    _ones_like_for_grad array_reduce distribute embed env_get environ_add environ_create environ_get environ_set geswitch hastype
    is_tensor_bool_cond isconstant iter_converter make_map_parameter merge ms_hasnext ms_next recompute_block ref_to_embed
    switch_layer tuple_div type_none typeof""".split())
_REASONS["it checks arguments inside MindSpore's dataset"] = tuple("""
    DecodeParams check_file check_from_dataset check_from_dataset_sentencepiece check_from_dict check_from_file
    check_from_file_sentencepiece check_from_file_vectors check_from_list check_ids_to_tokens check_non_negative_float32
    check_non_negative_int32 check_pos_float32 check_pos_int32 check_save_model check_tokens_to_ids check_value check_vocab
    parse_padding sync_wait_for_dataset type_check type_check_list""".split())
_REASONS["it belongs to MindSpore's servers, files or tools"] = tuple("""
    COMPATIBLE DeviceCtx EnvProfiler ExitByRequest HostSystem MapCacheIdx MapParameter MsDispatchMode Pull Push UntypedStorage
    _reuse_data_ptr _tft_handler init_ckpt_file_system load_mindir load_obf_params_into_net mindio_preload obfuscate_ckpt
    save_mindir set_dump set_mindio_server_info set_op_strategy_config
    split_dynamic_mindir vlog_print""".split())
_REASONS["a format of numbers that no library here has"] = ("hifloat8", "qint4x2")
_REASONS["it is not built yet"] = tuple("""
    AdamNoUpdateParam AllGatherV BasicLSTMCell DeformableOffsets Dilation2D DimReduce
    ExtractImagePatches FractionalAvgPool FractionalMaxPool FusedAdaFactor FusedAdaFactorWithGlobalNorm
    FusedCastAdamWeightDecay LARSUpdate MatrixLogarithm PyFunc ReduceScatterV Reshard
    SampleDistortedBoundingBoxV2 SparseApplyFtrlV2 flops_collection
    register_saved_tensors_hooks saved_tensors_hooks""".split())
REFUSED = {name: why for why, names in _REASONS.items() for name in names}
# members of Tensor, Parameter and Cell that are not here, and why
MEMBERS = {name: why for why, names in {
    "MindSpore's compiler keeps it for itself": """
        IGNORE_LIST T_destination arguments_key assign_value_cpp bprop_debug cell_init_args cell_type compile_cache compile_phase
        compiled create_time delta_seed enable_backward_hook exist_names exist_objs get_func_graph_proto getitem_index_info
        global_cells grad_ops_label index_of_parent_ is_default_input_init is_top_cell load param_info parent_tensor_ phase_cache
        remove_hook set_cast_dtype set_device_address set_param_info setitem_index_info symbolic_shape total_instance_count
        virtual_flag""",
    "to_float and amp say the precision": "get_mixed_precision_type mixed_precision_type set_mixed_precision_type",
    "memory of devices is moved and freed without calls": "delete_ offload offload_file_path pin_memory",
    "the pipeline and the ranks are described by shard, Layout and PipelineCell": """
        parallel_parameter_merge_net_dict parallel_parameter_name_list pipeline_segment""",
    "a Parameter says whether it is trained; other Tensors have gradients where grad is asked for them": "requires_grad_",
    "a Tensor's numbers lie one after the other in memory of its own: x.storage, x.data": "set_ untyped_storage",
    "it is not built yet": "register_parameter_forward_hook register_saved_tensors_hooks"}.items() for name in names.split()}
_REWRITE = {name: f"mindlite.rewrite:{name}" for name in ("Node", "NodeType", "ScopedValue", "SymbolTree", "ValueType")}
_KEPT = {name: f"mindlite.functional.kept_settings:{name}" for name in (
    "set_algo_parameters", "get_algo_parameters", "reset_algo_parameters")}
_SERVERS = {name: f"mindlite.functional.kept_settings:{name}" for name in (
    "set_ps_context", "get_ps_context", "reset_ps_context")}


# the classes of what the methods of a Dataset give, and the one base that all kinds of data have here
_DATASETS = {"TakeDataset": "mindlite.dataset.order:TakeDataset", "BatchDataset": "mindlite.dataset.batches:BatchDataset",
             "PaddedBatchDataset": "mindlite.dataset.batches:PaddedBatchDataset",
             **{f"{kind}BaseDataset": "mindlite.dataset.dataset:Dataset" for kind in ("Text", "Vision", "Audio", "Union")}}
# what a program asks of the process it runs in
_OF_PROCESS = {name: f"mindlite.mindspore.internals:{name}" for name in (
    "get_level", "get_log_config", "get_current_device", "ms_memory_recycle", "run_check",
    "set_recursion_limit", "swap_tensors")}
CLOSED = ("mindlite.mint",)                  # rooms that answer with what is in their __all__ only
MODULES = {
    "": (("mindlite", "mindlite.functional", "mindlite.train", "mindlite.lite"),
         {"dtype": "mindlite.mindspore.common.dtype:", "float_": "mindlite.common.dtype:float32",
          "int_": "mindlite.common.dtype:int64",
          **{name: _DTYPE_CLASSES[name] for name in ("Type", "Int", "TensorType")},
          **_DTYPE_WORDS, **{n: _KINDS[n] for n in ("number", "tensor_type", "string", "list_", "tuple_")},
          "names": "mindlite.train.metrics:names", **_KEPT, **_SERVERS, **_REWRITE,
          **_GENERATOR, **_CONTEXT, "STRICT": "mindlite.common.config:STRICT", "_Function": "mindlite.pynative:Function",
          "_no_grad": "mindlite.functional:no_grad",
          "LAX": "mindlite.common.config:LAX", "numpy": "mindlite.numpy:",
          "dtype_to_nptype": "mindlite.common.dtype:dtype_to_nptype",
          "pytype_to_dtype": "mindlite.common.dtype:pytype_to_dtype",
          "dtype_to_pytype": "mindlite.common.dtype:dtype_to_pytype",
          "get_py_obj_dtype": "mindlite.common.dtype:get_py_obj_dtype",
          **{name: f"mindlite.functional.runtime:{name}" for name in _RUNTIME}, **_HINTS, **_OF_PROCESS,
          "SparseTensor": "mindlite.mindspore.functions:SparseTensor", "uint": _DTYPE_CLASSES["UInt"],
          "QuantDtype": _INSIDE + "QuantDtype",
          "from_numpy": "mindlite.common.tensor:Tensor.from_numpy",
          "Profiler": "mindlite.debug.profiler:Profiler", "TrainFaultTolerance": _TRAINING + "TrainFaultTolerance",
          "Layout": "mindlite.parallel:Layout", **_CHECKPOINTS,
          "is_tensor": "mindlite.ops:is_tensor", "frombuffer": "mindlite.ops:frombuffer"}),
    "context": (("mindlite.functional.context", "mindlite.functional.parallel_context"),
                {**_CONTEXT, **_SERVERS, "K_CONTEXT": _INSIDE + "K_CONTEXT"}),
    "log": (("mindlite.common.log",), {name: _OF_PROCESS[name] for name in ("get_level", "get_log_config")}),
    **{name: (("mindlite.debug.profiler",), {}) for name in ("profiler", "profiler.profiler", "profiler.schedule")},
    "runtime": (("mindlite.functional.runtime",), {}),
    "hal": (("mindlite.functional.runtime",), {}),
    "utils": (("mindlite.ops.dlpack",), {name: f"mindlite.communication.execution_order:{name}" for name in (
        "comm_exec_order_check", "runtime_execution_order_check")}),
    "utils.runtime_execution_order_check": (("mindlite.communication.execution_order",), {}),
    "utils.dlpack": (("mindlite.ops.dlpack",), {}),
    "common.file_system": ((), {"FileSystem": "mindlite.train.serialization:FileSystem", **{
        name: _TRAINING + name for name in ("_register_basic_file_system", "_register_mindio_file_system")}}),
    "device_context": ((), {}),
    "device_context.cpu": ((), {}),
    "device_context.cpu.op_tuning": ((), {"threads_num": "mindlite.functional.context:threads_num"}),

    "common": (("mindlite.functional",) + _TENSOR + _DTYPE + _INITIALIZER + ("mindlite.common.seed",),
               {"mutable": "mindlite.functional:mutable", **_HINTS}),
    "common.dtype": (_DTYPE, {**_DTYPE_WORDS, **_KINDS, **_DTYPE_CLASSES, "number_type": _INSIDE + "number_type"}),
    "common._stub_tensor": ((), {"StubTensor": _INSIDE + "StubTensor"}),
    "common.np_dtype": ((), {"bfloat16": "ml_dtypes:bfloat16"}),
    "common.api": (("mindlite.functional",), _EXECUTORS),
    "common.initializer": (_INITIALIZER, {"_calculate_fan_in_and_fan_out": "mindlite.common.initializer:fans",
                                          "_INITIALIZER_ALIAS": "mindlite.common.initializer:BY_NAME",
                                          **{name: _INSIDE + name for name in ("_assignment", "_init_random_uniform")}}),
    "common.parameter": (_TENSOR + _INITIALIZER, {
        "_Buffer": "mindlite.nn.registry:Buffer", "_is_parameter_generated": _TRAINING + "_is_parameter_generated"}),
    "common.tensor": (_TENSOR, {}),
    "common.sparse_tensor": (("mindlite.ops.sparse",), {"RowTensorInner": "mindlite.ops.sparse:RowTensor"}),
    "common.seed": (("mindlite.common.seed",), {"_get_graph_seed": _INSIDE + "_get_graph_seed"}),
    "common.generator": (("mindlite.ops.generator",), {}),
    "common.jit_config": (("mindlite.functional",), {}),
    "common.mutable": (("mindlite.functional",), {}),

    "nn": (_NN, {**_METRICS, **_OF_MINT, "no_init_parameters": _TRAINING + "no_init_parameters"}),
    "nn.cell": (_NN, {}),
    "nn.layer": (_NN, {}),
    "nn.layer.conv": (_NN, {**_OF_MINT, "_Conv": _INSIDE + "_Conv",
                            "_deconv_output_length": _INSIDE + "_deconv_output_length"}),
    "nn.layer.rnn_cells": (_NN, {name: _INSIDE + name for name in (
        "_rnn_tanh_cell", "_rnn_relu_cell", "_lstm_cell", "_gru_cell")}),
    **{f"nn.layer.{name}": (_NN, _OF_MINT) for name in (
        "activation", "basic", "container", "embedding", "normalization", "padding", "pooling", "rnns",
        "transformer", "math", "image", "combined", "timedistributed")},
    "nn.loss": (_NN, {"L1LossExt": "mindlite.mint.nn:L1Loss"}),
    "nn.loss.loss": (_NN, {}),
    "nn.optim": (_NN, {}),
    **{f"nn.optim.{name}": (_NN, {"opt_init_args_register": _OWN}) for name in (
        "ada_grad", "adadelta", "adafactor", "adagrad", "adam", "adamax", "asgd", "ftrl", "lamb", "lars", "lazyadam", "momentum",
        "optimizer", "proximal_ada_grad", "rmsprop", "rprop", "sgd")},
    **{f"nn.{name}": ((f"mindlite.nn.{name}",), {}) for name in (
        "probability", "probability.distribution", "probability.bijector", "probability.bnn_layers", "probability.dpn",
        "probability.infer", "probability.toolbox")},
    "nn.probability.distribution._utils": ((), {}),
    "nn.probability.distribution._utils.utils": ((), {name: _INSIDE + name for name in (
        "set_param_type", "CheckTuple", "CheckTensor")}),
    "nn.utils": ((), {"no_init_parameters": _TRAINING + "no_init_parameters"}),
    "nn.grad": (_NN, {}),
    "nn.grad.cell_grad": (_NN, {}),
    "nn.wrap": (_NN, {}),
    "nn.wrap.cell_wrapper": (_NN, {}),
    "nn.wrap.loss_scale": (_NN, {}),
    "nn.learning_rate_schedule": (_NN, {}),
    "nn.dynamic_lr": (_NN, {}),

    "ops": (_OPS, {**_SYNONYMS, **_MINT_INSIDE, **_PRIMITIVE, **_GRADIENTS, **_WORDS, **_COLLECTIVES, **_OF_ASCEND,
             **_REGISTRATION, "flash_attention_score": _INSIDE + "flash_attention_score"}),
    "ops.function.comm_func": ((), _COLLECTIVES),
    "ops.operations": (_OPERATIONS, {**_GRADIENTS, **_OF_ASCEND, "identity": "mindlite.ops.operations:Identity",
                                     "ReduceOp": "mindlite.ops:ReduceOp",
                                     **{name: f"mindlite.functional.composite:{name}" for name in (
                                         "ForiLoop", "Scan", "WhileLoop")}}),
    **{f"ops.operations.{name}": (_OPERATIONS, _GRADIENTS) for name in (
        "array_ops", "math_ops", "nn_ops", "random_ops", "sparse_ops", "other_ops", "inner_ops", "image_ops",
        "control_ops", "debug_ops", "_grad_ops", "_scalar_ops", "_sequence_ops", "spectral_ops", "_csr_ops")},
    **{f"ops.operations.manually_defined{room}": ((*_OPERATIONS, "mindlite.functional.words", "mindlite.functional.composite"), {
        **_GRADIENTS, "rank": "mindlite.ops:rank", "tile": "mindlite.ops:tile", "shape_": "mindlite.mindspore.functions:shape_",
        "scalar_bool": "builtins:bool"})
       for room in ("", ".ops_def")},
    "ops.operations.linalg_ops": (_OPERATIONS, {"Eigh": "mindlite.scipy.ops:Eigh"}),
    "ops.operations._inner_ops": (_OPERATIONS, {**_GRADIENTS, "TopTypeof": _INSIDE + "TopTypeof"}),
    "ops.operations.comm_ops": (_OPERATIONS, {"ReduceOp": "mindlite.ops:ReduceOp"}),
    "ops.signature": ((), {name: _INSIDE + name for name in ("make_sig", "sig_rw", "sig_kind", "sig_dtype", "Signature")}),
    "ops.auto_generate": (_OPERATIONS + _OPS, {**_GRADIENTS, **_MINT_INSIDE, "copy": "mindlite.ops.operations:Copy.function",
                                               "contiguous": "mindlite.ops.operations:Contiguous.function"}),
    "ops.auto_generate.gen_ops_def": (_OPS, {"bmm_ext": _MINT_INSIDE["bmm_ext"], **{
        name + "_ext": f"mindlite.ops.operations:{name.capitalize()}Ext.function"
        for name in ("add", "sub", "sum", "mean")}}),
    "ops.auto_generate.gen_ops_prim": (_OPERATIONS, {
        **_GRADIENTS, "index_add_ext_op": _INSIDE + "index_add_ext_op", "embedding_op": _FUNCTIONAL + "embedding",
        "conv1d_ext_op": _FUNCTIONAL + "conv1d", "conv1d_padding_op": _FUNCTIONAL + "conv1d"}),
    "ops.vm_impl_registry": (_OPERATIONS, {"vm_impl_registry": "mindlite.ops.operations.define:implementations"}),
    "_extends": ((), {"cell_attr_register": "mindlite.functional.jit:cell_attr_register"}),
    "_extends.parse": ((), {}),
    "_extends.parse.compile_config": ((), {**{name: _INSIDE + "NOT_SET" for name in (
        "AMP_ENABLE_ALL_FG", "BOOST_PARSE", "CHECK_BPROP", "ENABLE_DDE", "ENABLE_RECOMPUTE_BEFORE_INLINE", "FALLBACK_FORCE_ANY",
        "FALLBACK_SUPPORT_LIST_DICT_INPLACE", "FOR_HALF_UNROLL", "GRAD_FOR_SCALAR", "GREED_PARSE", "IF_PARALLEL_CALL", "PRE_LIFT",
        "RECURSIVE_EVAL", "SINGLE_EVAL", "STRICT_CHECK_PARENT_CONTEXT")}, **{name: _INSIDE + "SET" for name in (
            "JIT_ENABLE_AUGASSIGN_INPLACE", "JIT_ENABLE_AUGASSIGN_INPLACE_FALLBACK")}}),
    "_checkparam": (("mindlite.common.checks",), {}),
    "_c_dataengine": ((), {}),
    "_c_expression.typing": (_DTYPE, {**_DTYPE_CLASSES, **{
        f"k{name}": f"mindlite.common.dtype:{name.lower()}" for name in ("Float16", "Float32", "BFloat16")}}),
    "_c_expression": (_TENSOR, {**{name: f"mindlite.mindspore.functions:{name}" for name in (
                                    "_random_normal", "_random_uniform", "_truncated_normal")},
                                **{name: _INSIDE + name for name in (
                                    "MSContext", "ParamInfo", "pyboost_empty", "_framework_profiler_step_start",
                                    "_framework_profiler_step_end")}, "TensorPy": "mindlite.common.tensor:Tensor",
                                "CreationType": "mindlite.functional.executor:CreationType",
                                "security": "mindlite.functional.executor:security",
                                "CommExecOrderChecker": "mindlite.communication.execution_order:CommExecOrderChecker"}),
    "ops.primitive": (_OPERATIONS, {**_PRIMITIVE, "_run_op": _INSIDE + "_run_op"}),
    "ops._tracefunc": ((), {"trace": _INSIDE + "trace"}),
    "ops.operations._rl_inner_ops": ((), {"CudnnGRU": _INSIDE + "CudnnGRU"}),
    "ops.functional": (_OPS, {**_SYNONYMS, **_WORDS}),
    "ops.function": (_OPS, {**_SYNONYMS, "grad": "mindlite.ops:grad"}),
    **{f"ops.function.{name}": (_OPS, {**_SYNONYMS, **_MINT_INSIDE}) for name in (
        "array_func", "math_func", "nn_func", "grad", "grad.grad_func")},
    "ops.function.random_func": (_OPS, {**_SYNONYMS, **_MINT_INSIDE, "_get_seed": _INSIDE + "_get_graph_seed",
                                        "_set_prim_op_user_data": _INSIDE + "_set_prim_op_user_data"}),
    "ops.functional_overload": (("mindlite.mint", *_OPS), {}),
    "ops.composite": (("mindlite.functional.composite", "mindlite.functional.words", "mindlite.functional", "mindlite.ops"),
                      {name: f"mindlite.functional.hints:{name}" for name in ("add_flags", "core")}),
    "ops.composite.base": (("mindlite.functional.composite", "mindlite.functional"), {
        name: f"mindlite.functional.hints:{name}" for name in ("add_flags", "core")}),
    "ops.composite.multitype_ops": (("mindlite.functional.composite",), {}),
    "ops._primitive_cache": (_OPERATIONS, {"_get_cache_prim": _INSIDE + "_get_cache_prim"}),
    "ops.composite.clip_ops": (_OPS, {}),

    "train": (("mindlite.train",), {"data_sink": "mindlite.functional:data_sink", **_CHECKPOINTS,
                                    "TrainFaultTolerance": _TRAINING + "TrainFaultTolerance"}),
    "train.amp": (("mindlite.amp", "mindlite.train"), {"_OutputTo32": _TRAINING + "OutputTo32"}),
    "train._utils": (("mindlite.train",), {name: _TRAINING + name for name in (
        "_construct_tensor_list", "get_parameter_redundancy", "remove_param_redundancy")}),
    "train.serialization": (("mindlite.train", "mindlite.communication") + _TENSOR + _INITIALIZER, {
        **_GENERATOR, **_CHECKPOINTS, **{f"new_{name}": f"mindlite.train.transform:{name}" for name in (
            "build_searched_strategy", "load_distributed_checkpoint", "merge_sliced_parameter", "restore_group_info_list")},
        **{name: _INSIDE + name for name in (
            "tensor_to_np_type", "tensor_to_ms_type", "_exec_save", "_parse_ckpt_proto", "_load_map_parameter", "cpu_cast",
            "check_input_data", "check_input_dataset")},
        "_save_graph": _TRAINING + "save_graph", "_get_funcgraph": _TRAINING + "get_funcgraph",
        **{name: _TRAINING + name for name in ("get_funcgraph", "get_parameter_redundancy")},
        "Cast": "mindlite.ops.operations:Cast", "FileSystem": "mindlite.train.serialization:FileSystem",
        "Tensor_": "mindlite.common.tensor:Tensor"}),
    "train.summary.summary_record": (("mindlite.train",), {
        "_DEFAULT_EXPORT_OPTIONS": _TRAINING + "_DEFAULT_EXPORT_OPTIONS",
        "_cache_summary_tensor_data": _TRAINING + "cache_summary_tensor_data"}),
    "train.summary._summary_adapter": ((), {"_calc_histogram_bins": _TRAINING + "_calc_histogram_bins"}),
    "train.summary_pb2": (("mindlite.mindspore.summary_events",), {}),
    "train.summary.enums": ((), {name: _TRAINING + name for name in ("ModeEnum", "PluginEnum")}),
    "train.callback": (("mindlite.train",), {
        "_InternalCallbackParam": "mindlite.train.callback:RunArguments", "_CallbackManager": "mindlite.train.callback:Callbacks",
        "InternalCallbackParam": "mindlite.train.callback:RunArguments", "_CheckpointManager": _TRAINING + "CheckpointManager",
        "TrainFaultTolerance": _TRAINING + "TrainFaultTolerance",
        **{f"_{name}": _TRAINING + name for name in ("checkpoint_cb_for_save_op", "set_cur_net")}}),
    "train.callback._callback": (("mindlite.train.callback",), {
        "InternalCallbackParam": "mindlite.train.callback:RunArguments", "CallbackManager": "mindlite.train.callback:Callbacks",
        **{name: _TRAINING + name for name in ("checkpoint_cb_for_save_op", "set_cur_net")}}),
    "train.callback._checkpoint": (("mindlite.train",), {
        "CheckpointManager": _TRAINING + "CheckpointManager",
        "_chg_ckpt_file_name_if_same_exist": _TRAINING + "_chg_ckpt_file_name_if_same_exist"}),
    "train.callback._cluster_monitor": ((), {"_get_dp_tp_from_layout": _TRAINING + "_get_dp_tp_from_layout"}),
    **{f"train.callback.{name}": (("mindlite.train",), {}) for name in (
        "_backup_and_restore", "_early_stop", "_flops_collector", "_history", "_lambda_callback", "_landscape", "_loss_monitor",
        "_lr_scheduler_callback", "_on_request_exit", "_reduce_lr_on_plateau", "_summary_collector", "_time_monitor")},
    **{f"train.{name}": (("mindlite.train",), {}) for name in (
        "metrics", "model", "loss_scale_manager", "data_sink", "summary",
        "dataset_helper",
        "train_thor")},
    "amp": (("mindlite.amp", "mindlite.train"), {}),
    "dataset": (("mindlite.dataset",), _DATASETS),
    **{f"dataset.{name}": ((f"mindlite.dataset.{name}",), {}) for name in ("vision", "text", "audio", "debug")},
    "dataset.transforms": (("mindlite.dataset.transforms",), {"vision": "mindlite.dataset.vision:"}),
    "dataset.text.transforms": (("mindlite.dataset.text",), {name: _INSIDE + name for name in (
        "Implementation", "TextTensorOperation", "TensorOperation", "DE_C_INTER_NORMALIZE_FORM")}),
    "dataset.transforms.transforms": (("mindlite.dataset.transforms",), {name: _INSIDE + name for name in (
        "Implementation", "PyTensorOperation", "TensorOperation")}),
    "dataset.vision.utils": (("mindlite.dataset.vision",), {
        "get_video_backend": "mindlite.dataset.config:get_video_backend"}),
    "dataset.core.datatypes": ((), {"mstype_to_detype": _INSIDE + "mstype_to_detype"}),
    **{f"dataset.{name}": ((f"mindlite.dataset.{name.split('.')[0]}",), {}) for name in (
        "vision.transforms", "audio.utils", "audio.transforms", "text.utils",
        "transforms.c_transforms", "transforms.py_transforms", "vision.c_transforms",
        "vision.py_transforms")},
    "dataset.engine": (("mindlite.dataset",), _DATASETS),
    "dataset.engine.iterators": (("mindlite.dataset",), {"ITERATORS_LIST": "mindlite.dataset.iterators:ITERATORS_LIST"}),
    "dataset.engine.datasets": (("mindlite.dataset",), {name: "mindlite.dataset.iterators:" + name for name in (
        "_set_training_dataset", "_get_training_dataset", "_reset_training_dataset")}),
    **{f"dataset.{name}": (("mindlite.dataset",), {}) for name in (
        "engine.samplers", "engine.datasets_vision", "engine.datasets_text", "engine.datasets_audio",
        "engine.datasets_user_defined", "engine.datasets_standard_format", "callback", "core", "utils", "utils.line_reader")},
    "dataset.core.config": (("mindlite.dataset.config",), {}), "dataset.config": (("mindlite.dataset.config",), {}),
    "mindrecord": (("mindlite.mindrecord",), {}),

    "numpy": (("mindlite.numpy",), {}),
    "scipy": (("mindlite.scipy",), {}),
    **{f"scipy.{name}": ((f"mindlite.scipy.{name}",), {}) for name in (
        "linalg", "fft", "ops", "sparse", "sparse.linalg")},
    "scipy.ops_wrapper": ((), {"matrix_set_diag": _INSIDE + "matrix_set_diag"}),
    "scipy.utils": ((), {"_nd_transpose": "mindlite.ops.decomposition:turned"}),
    "scipy.optimize": (("mindlite.scipy.optimize",), {
        name: f"mindlite.scipy.optimize:{name}" for name in ("line_search", "minimize", "linear_sum_assignment")}),
    **{f"scipy.optimize.{name}": (("mindlite.scipy.optimize",), {}) for name in (
        "line_search", "minimize", "linear_sum_assignment")},
    "mint": (("mindlite.mint",), {}),
    **{f"mint.{name}": ((f"mindlite.mint.{name}",), {}) for name in (
        "special", "linalg", "nn", "nn.functional", "optim", "distributed")},
    "mint.distributed.distributed": (("mindlite.mint.distributed",), {}),
    "experimental": ((), {}),
    "experimental.optim": (("mindlite.nn.experimental",), {}),
    **{f"experimental.optim.{name}": (("mindlite.nn.experimental",), {}) for name in (
        "adadelta", "adagrad", "adam", "adamax", "adamw", "asgd", "nadam", "optimizer", "radam", "rmsprop", "rprop", "sgd")},
    "experimental.optim.lr_scheduler": ((), {name: f"mindlite.nn.experimental.lr_scheduler:{name}" for name in (
        "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR", "LRScheduler", "LambdaLR",
        "LinearLR", "MultiStepLR", "MultiplicativeLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR")}),
    "multiprocessing": (("multiprocessing",), {}),
    "parallel": (("mindlite.parallel",), {**_KEPT, **_CHECKPOINTS, "shard": "mindlite.functional:shard",
                                          "AutoParallel": "mindlite.nn.auto_parallel:AutoParallel"}),
    "parallel.nn": ((), {name: f"mindlite.nn:{found}" for name, found in (
        ("GradAccumulation", "GradAccumulationCell"), ("MicroBatchInterleaved", "MicroBatchInterleaved"),
        ("Pipeline", "PipelineCell"), ("PipelineCell", "PipelineCell"), ("PipelineGradReducer", "PipelineGradReducer"))}),
    "parallel.parameter_broadcast": ((), {"parameter_broadcast": _CHECKPOINTS["parameter_broadcast"]}),
    "parallel.transform_safetensors": ((), {"_fast_load_file": _TRAINING + "_fast_load_file"}),
    "parallel.auto_parallel": ((), {"AutoParallel": "mindlite.nn.auto_parallel:AutoParallel"}),
    "parallel.function": ((), {"reshard": "mindlite.functional:reshard"}),
    "parallel.shard": ((), {"Layout": "mindlite.parallel:Layout", "shard": "mindlite.functional:shard"}),
    "rewrite": (("mindlite.rewrite",), {}),
    **{f"rewrite.api{name}": ((f"mindlite.rewrite{home}",), {}) for name, home in (
        ("", ""), (".node", ".node"), (".node_type", ".value"), (".scoped_value", ".value"), (".symbol_tree", ".symbol_tree"),
        (".pattern_engine", ".pattern"))},
    "boost": (("mindlite.boost",), {}),
    "boost.grad_accumulation": (("mindlite.boost.grad_accumulation",), {}),
    "boost.grad_freeze": (("mindlite.boost.grad_freeze",), {}),
    "boost.base": (("mindlite.boost.optimizers",), {}),
    "boost.boost_cell_wrapper": (("mindlite.boost.train_step",), {}),
    "boost.less_batch_normalization": (("mindlite.boost.less_bn",), {}),
    "communication": (("mindlite.communication",), {name: _INSIDE + name for name in (
        "HCCL_WORLD_COMM_GROUP", "NCCL_WORLD_COMM_GROUP", "MCCL_WORLD_COMM_GROUP")}),
    "communication.management": (("mindlite.communication",), {name: _INSIDE + name for name in (
        "HCCL_WORLD_COMM_GROUP", "NCCL_WORLD_COMM_GROUP")}),
    "communication._comm_helper": (("mindlite.communication",), {}),
    "communication.comm_func": (("mindlite.communication.comm_func",), {}),
}
