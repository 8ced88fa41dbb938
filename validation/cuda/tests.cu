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

/** "cuda_fir" of "validation/cuda/test_cuda_fir.cu". */
static std::string group_of(const tap::Case &each)
{
    const std::string path = each.file;
    const size_t begin = path.rfind("test_") + strlen("test_");
    return path.substr(begin, path.rfind('.') - begin);
}

/** The group of the program's name, gpu_fir for cuda_fir, or of the first word,
 *  which is then removed; "" for all groups. */
static std::string take_group(const char *program,
                              std::vector<std::string> &words)
{
    const char *slash = strrchr(program, '/');
    const std::string name = slash ? slash + 1 : program;
    if (name.rfind("gpu_", 0) == 0)
        return "cuda_" + name.substr(strlen("gpu_"));
    for (const tap::Case &each : tap::cases)
        if (!words.empty() && group_of(each) == words[0]) {
            words.erase(words.begin());
            return group_of(each);
        }
    return "";
}

int main(int argc, char **argv)
{
    std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() == 1 && words[0] == "--list") {
        for (const tap::Case &each : tap::cases)
            printf("%s %s\n", group_of(each).c_str(), each.name);
        return 0;
    }
    int n_devices = 0;
    const cudaError_t status = cudaGetDeviceCount(&n_devices);
    if (status != cudaSuccess || n_devices == 0) {
        printf("1..0 # SKIP no CUDA device: %s\n", cudaGetErrorName(status));
        return 77;
    }
    const std::string group = take_group(argv[0], words);
    std::vector<tap::Case> chosen;
    for (const tap::Case &each : tap::cases)
        if ((group.empty() || group_of(each) == group) &&
            (words.empty() ||
             std::find(words.begin(), words.end(), each.name) != words.end()))
            chosen.push_back(each);
    if (!chosen.empty())
        return tap::run_all(chosen);
    fprintf(stderr, "fx8-test-cuda: no such group or case\n");
    return 2;
}
