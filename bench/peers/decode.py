"""The language model of `ferry bench decode` in llama.cpp, one process: decode.py MODEL float32|int8 THREADS TOKENS

Writes MODEL, a GGUF file with random weights, if it does not exist. Then decodes tokens one at a time from position 64 on, each the
most likely one after the token before. Prints the median of their times in milliseconds. It needs the packages gguf and llama-cpp-python.
"""
import ctypes
import pathlib
import statistics
import sys
import time

try:
    import gguf
    import llama_cpp
    import numpy
except ImportError:
    sys.exit(0)  # not installed: nothing is printed

MODEL, WEIGHTS = sys.argv[1:3]
THREADS, TOKENS = map(int, sys.argv[3:5])
LAYERS, WIDTH, HIDDEN, HEADS, KEY_HEADS, VOCABULARY, POSITIONS = 30, 576, 1536, 9, 3, 49152, 256
HEAD = WIDTH // HEADS
FIRST = 64  # the first position that is measured


def write_model():
    writer = gguf.GGUFWriter(MODEL, "llama")
    writer.add_context_length(POSITIONS)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(HEAD)
    writer.add_rope_freq_base(10000)
    writer.add_vocab_size(VOCABULARY)
    writer.add_tokenizer_model("no_vocab")
    random = numpy.random.default_rng(1)

    def add_matrix(name, outputs, inputs):
        matrix = (random.random((outputs, inputs), dtype=numpy.float32) - 0.5) * numpy.float32((12 / inputs) ** 0.5)
        if WEIGHTS == "int8":
            kind = gguf.GGMLQuantizationType.Q8_0
            writer.add_tensor(name, gguf.quants.quantize(matrix, kind), raw_dtype=kind)
        else:
            writer.add_tensor(name, matrix)

    def add_norm(name):
        writer.add_tensor(name, random.random(WIDTH, dtype=numpy.float32) + numpy.float32(0.5))

    add_matrix("token_embd.weight", VOCABULARY, WIDTH)  # llama.cpp takes it for the output projection, too
    add_norm("output_norm.weight")
    for layer in (f"blk.{i}." for i in range(LAYERS)):
        add_norm(layer + "attn_norm.weight")
        add_matrix(layer + "attn_q.weight", WIDTH, WIDTH)
        add_matrix(layer + "attn_k.weight", KEY_HEADS * HEAD, WIDTH)
        add_matrix(layer + "attn_v.weight", KEY_HEADS * HEAD, WIDTH)
        add_matrix(layer + "attn_output.weight", WIDTH, WIDTH)
        add_norm(layer + "ffn_norm.weight")
        add_matrix(layer + "ffn_gate.weight", HIDDEN, WIDTH)
        add_matrix(layer + "ffn_up.weight", HIDDEN, WIDTH)
        add_matrix(layer + "ffn_down.weight", WIDTH, HIDDEN)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@llama_cpp.llama_log_callback
def ignore(_level, _text, _data):
    pass


def decode(context, tokens):
    """Decodes the tokens, and returns the most likely next one."""
    values = (llama_cpp.llama_token * len(tokens))(*tokens)
    if llama_cpp.llama_decode(context, llama_cpp.llama_batch_get_one(values, len(tokens))) != 0:
        sys.exit("llama.cpp could not decode")
    logits = llama_cpp.llama_get_logits_ith(context, -1)
    return int(numpy.ctypeslib.as_array(logits, (VOCABULARY,)).argmax())


if not pathlib.Path(MODEL).exists():
    write_model()
llama_cpp.llama_log_set(ignore, ctypes.c_void_p(0))
llama_cpp.llama_backend_init()
model = llama_cpp.llama_model_load_from_file(MODEL.encode(), llama_cpp.llama_model_default_params())
settings = llama_cpp.llama_context_default_params()
settings.n_ctx, settings.n_threads, settings.n_threads_batch = POSITIONS, THREADS, THREADS
context = llama_cpp.llama_init_from_model(model, settings)
token = decode(context, list(range(1, FIRST + 1)))
times = []
for _ in range(TOKENS):
    begin = time.perf_counter()
    token = decode(context, [token])
    times.append(time.perf_counter() - begin)
print(statistics.median(times) * 1e3)
