/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tests.cu -- main() of the tests of the CUDA sources: all of them in
 * fx8-test-cuda on pretend devices, those of one file in gpu_FILE on a card.
 *
 *     fx8-test-cuda                      all cases
 *     fx8-test-cuda --list               a line "GROUP CASE" for each
 *     fx8-test-cuda [GROUP] [CASE]...    a group, or cases of these names
 *
 * A group is a file: test_cuda_fir.cu is group cuda_fir. Exit status 77 means
 * that there is no device and nothing was run.
 */
#include <algorithm>

#include <cuda_runtime.h>

#include "validation/cuda/tap.h"

namespace
{

constexpr int NOTHING_RUN = -1;

/** "cuda_fir" of "validation/cuda/test_cuda_fir.cu". */
std::string group_of(const char *file)
{
    const std::string path = file;
    const size_t begin = path.rfind("test_") + strlen("test_");
    return path.substr(begin, path.rfind('.') - begin);
}

int list()
{
    for (const tap::Case &each : tap::cases)
        printf("%s %s\n", group_of(each.file).c_str(), each.name);
    return 0;
}

/** The group of the program's name, gpu_fir for cuda_fir, or of the first word,
 *  which is then removed; "" for all groups. */
std::string take_group(const char *program, std::vector<std::string> &words)
{
    const char *slash = strrchr(program, '/');
    const std::string name = slash ? slash + 1 : program;
    if (name.rfind("gpu_", 0) == 0)
        return "cuda_" + name.substr(strlen("gpu_"));
    for (const tap::Case &each : tap::cases)
        if (!words.empty() && group_of(each.file) == words[0]) {
            words.erase(words.begin());
            return group_of(each.file);
        }
    return "";
}

/** Exit status of a program: the worst of two. */
int worse(int a, int b)
{
    return a == 1 || b == 1 ? 1 : std::max(a, b);
}

/** Cases [begin, end) of one file that `words` names; all if it is empty. */
int run_file(size_t begin, size_t end, const std::vector<std::string> &words)
{
    std::vector<tap::Case> chosen;
    for (size_t k = begin; k < end; ++k)
        if (words.empty() || std::find(words.begin(), words.end(),
                                       tap::cases[k].name) != words.end())
            chosen.push_back(tap::cases[k]);
    if (chosen.empty())
        return NOTHING_RUN;
    for (const tap::Hook &hook : tap::hooks)
        if (hook.before_all && !strcmp(hook.file, chosen[0].file))
            hook.before_all();
    return tap::run_all(chosen);
}

} // namespace

int main(int argc, char **argv)
{
    std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() == 1 && words[0] == "--list")
        return list();
    int n_devices = 0;
    const cudaError_t status = cudaGetDeviceCount(&n_devices);
    if (status != cudaSuccess || n_devices == 0) {
        printf("1..0 # SKIP no CUDA device: %s\n", cudaGetErrorName(status));
        return 77;
    }
    const std::string group = take_group(argv[0], words);
    int result = NOTHING_RUN;
    const size_t n = tap::cases.size();
    for (size_t k = 0, end; k < n; k = end) {
        const char *file = tap::cases[k].file;
        for (end = k; end < n && !strcmp(tap::cases[end].file, file);)
            ++end;
        if (!group.empty() && group_of(file) != group)
            continue;
        const int status_of_file = run_file(k, end, words);
        if (status_of_file != NOTHING_RUN)
            result = result == NOTHING_RUN ? status_of_file
                                           : worse(result, status_of_file);
    }
    for (const tap::Hook &hook : tap::hooks)
        if (result == NOTHING_RUN && hook.on_words &&
            group_of(hook.file) == group)
            return hook.on_words(words);
    if (result != NOTHING_RUN)
        return result;
    fprintf(stderr, "fx8-test-cuda: %s: no group or case\n",
            words.back().c_str());
    return 2;
}
