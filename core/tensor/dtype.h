#pragma once

#include "core/base/dtype.h"
